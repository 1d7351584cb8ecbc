"""One text through a bytes-in .onnx file: ONNX Runtime as it is, no custom op, nothing of this package.

python examples/classify_bytes_onnx.py FOLDER_OF_AN_EXPORT "play some jazz"
"""

import os
import sys
from pathlib import Path

import numpy as np
import onnxruntime

if len(sys.argv) != 3:
    sys.exit(__doc__)
folder, text = Path(sys.argv[1]), os.fsencode(sys.argv[2]) or b"\0"
session = onnxruntime.InferenceSession(str(folder / "bytes_int8.onnx"))
(logits,) = session.run(["logits"], {"text": np.frombuffer(text, np.uint8)[None]})
labels = (folder / "labels.txt").read_text(encoding="utf-8").splitlines()
print(f"{labels[int(logits[0].argmax())]}  {logits[0].max():.2f}")
