"""Which words a model that drops tokens keeps."""
