"""One text through a text-in .onnx file.

python examples/classify_onnx.py FOLDER_OF_AN_EXPORT "play some jazz"
"""

import sys
from pathlib import Path

import numpy as np
import onnxruntime

from models_tf.ops.projection.ort_loader import session_options_with_projection

if len(sys.argv) != 3:
    sys.exit(__doc__)
folder, text = Path(sys.argv[1]), sys.argv[2]
session = onnxruntime.InferenceSession(str(folder / "text_int8.onnx"), session_options_with_projection())
(logits,) = session.run(["logits"], {"text": np.array([text], dtype=object)})
labels = (folder / "labels.txt").read_text(encoding="utf-8").splitlines()
print(f"{labels[int(logits[0].argmax())]}  {logits[0].max():.2f}")
