"""Recipes, calibration and quantizers for TFLite and ONNX models.

What both formats share stands here; `tflite/` and `onnx/` have the same modules.
"""

import os

# Else ONNX Runtime writes a device id and a database under HOME and sends events. It reads this at its first session,
# and so do the processes that we start. Who sets another value keeps it.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
