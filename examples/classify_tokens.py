"""Classifies a text with a token model's .tflite: python examples/classify_tokens.py FOLDER "some text" [recipe=int8]

FOLDER was written by `export-mobile --model mobilebert --checkpoint DIR ...` (`--random-init` writes no tokenizer).
Needs only ai-edge-litert and tokenizers, not this package.
"""

import json
import sys
from pathlib import Path

import numpy as np
from ai_edge_litert.interpreter import Interpreter
from tokenizers import Tokenizer

if len(sys.argv) not in (3, 4):
    sys.exit(__doc__)
folder, text = Path(sys.argv[1]), sys.argv[2]
recipe = (sys.argv[3] if len(sys.argv) > 3 else "int8").replace("-", "_")  # as in the file names
length = json.loads((folder / "model.json").read_text(encoding="utf-8"))["length"]

tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
tokenizer.enable_truncation(length["max"])
if not length["any"]:  # else the file takes the text as long as it is
    tokenizer.enable_padding(length=length["max"])
encoded = tokenizer.encode(text)
values = {"ids": encoded.ids, "mask": encoded.attention_mask, "segments": encoded.type_ids}

run = Interpreter(str(folder / f"model_{recipe}.tflite")).get_signature_runner()
inputs = {name: np.array([values[name]], np.int32) for name in run.get_input_details()}
scale, zero_point = run.get_output_details()["logits"]["quantization"]  # 0 if the output is float
logits = run(**inputs)["logits"][0].astype(np.float32)
logits = (logits - zero_point) * scale if scale else logits
label = (folder / "labels.txt").read_text(encoding="utf-8").splitlines()[int(logits.argmax())]
print(label, logits)
