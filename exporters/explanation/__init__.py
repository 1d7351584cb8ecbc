"""Which words a token-dropping model keeps."""
