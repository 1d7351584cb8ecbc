"""One text through a text-in .tflite file: the op reads the string, nothing else is needed.

python examples/classify_text.py FOLDER_OF_AN_EXPORT "play some jazz"
"""

import sys
from pathlib import Path

import numpy as np

from models_tf.ops.projection.tflite_loader import interpreter

if len(sys.argv) != 3:
    sys.exit(__doc__)
folder, text = Path(sys.argv[1]), sys.argv[2]
model = interpreter((folder / "text_int8.tflite").read_bytes())
model.allocate_tensors()
inputs, outputs = model.get_input_details()[0], model.get_output_details()[0]
model.set_tensor(inputs["index"], np.array([text.encode()]))
model.invoke()
scale, zero_point = outputs["quantization"]
logits = scale * (model.get_tensor(outputs["index"])[0].astype(np.float32) - zero_point)
labels = (folder / "labels.txt").read_text(encoding="utf-8").splitlines()
print(f"{labels[int(logits.argmax())]}  {logits.max():.2f}")
