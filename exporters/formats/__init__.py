"""File formats: what a TFLite or ONNX file is made from, holds and answers."""
