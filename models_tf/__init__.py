"""Models, the projection op they read, their checkpoints, and their training."""
