"""What a model file holds, whoever wrote it, and what the runtimes will do with it."""
