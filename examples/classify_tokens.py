"""One text through a token model's .tflite: python classify_tokens.py FOLDER "some text" [recipe, default int8].

FOLDER is what `export-mobile --model mobilebert --checkpoint DIR ...` wrote. Needs ai-edge-litert and tokenizers.
"""

import json
import sys
from pathlib import Path

import numpy as np
from ai_edge_litert.interpreter import Interpreter
from tokenizers import Tokenizer

folder, text = Path(sys.argv[1]), sys.argv[2]
recipe = sys.argv[3] if len(sys.argv) > 3 else "int8"
length = json.loads((folder / "model.json").read_text(encoding="utf-8"))["max_seq_len"]

tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
tokenizer.enable_truncation(length)
tokenizer.enable_padding(length=length)
encoded = tokenizer.encode(text)
values = {"ids": encoded.ids, "mask": encoded.attention_mask, "segments": encoded.type_ids}

run = Interpreter(str(folder / f"model_{recipe}.tflite")).get_signature_runner()
inputs = {name: np.array([values[name]], np.int32) for name in run.get_input_details()}
logits = run(**inputs)["logits"][0]
label = (folder / "labels.txt").read_text(encoding="utf-8").splitlines()[int(logits.argmax())]
print(label, logits)
