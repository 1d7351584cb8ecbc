"""Tokens from a checkpoint's own files."""
