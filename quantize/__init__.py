"""Recipes, calibration and quantizers for TFLite and ONNX models.

What both formats share stands here; `tflite/` and `onnx/` have the same modules.
"""
