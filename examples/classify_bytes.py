"""One text through a bytes-in .tflite file: LiteRT as it is, no custom op, nothing of this package.

python examples/classify_bytes.py FOLDER_OF_AN_EXPORT "play some jazz"
"""

import os
import sys
from pathlib import Path

import numpy as np
from ai_edge_litert.interpreter import Interpreter

if len(sys.argv) != 3:
    sys.exit(__doc__)
folder, text = Path(sys.argv[1]), os.fsencode(sys.argv[2])
run = Interpreter(str(folder / "bytes_int8.tflite")).get_signature_runner("serving_default")
given = np.zeros(run.get_input_details()["text"]["shape"], np.uint8)  # [1, bytes], zeros behind the text
given[0, : len(text)] = np.frombuffer(text, np.uint8)[: given.size]
logits = run(text=given)["logits"][0]
labels = (folder / "labels.txt").read_text(encoding="utf-8").splitlines()
print(f"{labels[int(logits.argmax())]}  {logits.max():.2f}")
