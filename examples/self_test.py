"""Runs every file of an export on its examples.json, as an app does: python examples/self_test.py FOLDER"""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np

from exporters.formats.base import load_runner
from models_tf.ops.projection.config import ProjectionConfig
from models_tf.ops.projection.library import HostProjection
from models_tf.tokenizers.tokenizer import Tokenizer

if len(sys.argv) != 2:
    sys.exit(__doc__)
folder, document = Path(sys.argv[1]), json.loads(Path(sys.argv[1], "examples.json").read_bytes())
examples, length = document["examples"], document["model"]["max_seq_len"]
wanted, given = [example["inputs"] for example in examples], {name: [e[name] for e in examples] for name in examples[0]}
if "features" in wanted[0]:  # inputs from the texts, compared with those of the export
    config = json.loads((folder / "projection.json").read_bytes())["config"]
    features = HostProjection(ProjectionConfig.from_dict(config)).project(given["text"])[0]
    feed = {"features": features, "text": [text.encode() for text in given["text"]]}
    same = all(hashlib.sha256(f).hexdigest() == w["features"]["sha256"] for f, w in zip(features, wanted, strict=True))
else:
    names = [name for name in ("ids", "mask", "segments") if name in wanted[0]]
    feed = own = {n: np.array([w[n] + [0] * (length - w["tokens"]) for w in wanted], np.int32) for n in names}
    if "words" in given:
        own = Tokenizer.from_folder(folder).encode_words(given["words"], max_len=length).inputs
    elif "text" in given:  # random weights have no tokenizer, so their examples have no texts
        own = Tokenizer.from_folder(folder).encode(given["text"], given.get("text_pair"), max_len=length)
    same = all((own[name] * own["mask"] == feed[name]).all() for name in names)
print(f"inputs of {len(examples)} examples: {'equal' if same else 'FAILED'}")
for name, file in document["files"].items():  # answers: the same corner of each
    outputs = load_runner(folder / name, inputs=tuple(file["inputs"]))(feed)
    pairs = [(outputs[key][i], np.array(v)) for i, e in enumerate(examples) for key, v in e["outputs"][name].items()]
    worst = max(float(np.abs(o[tuple(map(slice, v.shape))] - v).max(initial=0)) for o, v in pairs)
    same &= (passed := worst <= file["tolerance"])
    print(f"{name}: {'passed' if passed else 'FAILED'}, {worst:.1e} of {file['tolerance']:.1e}")
sys.exit(not same)
