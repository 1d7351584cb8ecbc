"""Where a model comes from: projection checkpoints and token checkpoints."""
