"""One text through a features-in .tflite file: builtin ops only, the projection runs outside the model.

This is the way of an app that does not want a custom op in its runtime: the C interface of the core
(`models_tf/ops/projection/c_api.cc`) computes the features, here through ctypes.

python examples/classify_features.py FOLDER_OF_AN_EXPORT "play some jazz"
"""

import json
import sys
from pathlib import Path

import numpy as np
from ai_edge_litert.interpreter import Interpreter

from models_tf.ops.projection.config import ProjectionConfig
from models_tf.ops.projection.library import HostProjection

if len(sys.argv) != 3:
    sys.exit(__doc__)
folder, text = Path(sys.argv[1]), sys.argv[2]
document = json.loads((folder / "projection.json").read_text(encoding="utf-8"))
features, _ = HostProjection(ProjectionConfig.from_dict(document["config"])).project([text])

run = Interpreter(str(folder / "features_int8.tflite")).get_signature_runner("serving_default")
output = run.get_output_details()["logits"]["quantization"]
logits = output[0] * (run(features=features)["logits"][0].astype(np.float32) - output[1])
labels = (folder / "labels.txt").read_text(encoding="utf-8").splitlines()
print(f"{labels[int(logits.argmax())]}  {logits.max():.2f}")
