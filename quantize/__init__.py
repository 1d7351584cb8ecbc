"""Recipes, calibration and quantizers of TFLite and ONNX models."""
