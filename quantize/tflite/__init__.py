"""Quantizers of TFLite models."""
