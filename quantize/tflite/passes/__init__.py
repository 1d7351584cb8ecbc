"""Rewrites of TFLite models."""
