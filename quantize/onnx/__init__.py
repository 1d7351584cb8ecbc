"""Quantizers of ONNX models."""
