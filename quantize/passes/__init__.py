"""Rewrites of a .tflite object tree. Each module says what it requires and what it ensures."""
