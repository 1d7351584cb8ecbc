"""`check`: scores shipped model files and judges them against a baseline or another file."""
