"""Checkpoint folders of Hugging Face: config.json, weights by PyTorch's names, tokenizer files. No code is executed."""
