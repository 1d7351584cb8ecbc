"""Rewrites of ONNX models."""
