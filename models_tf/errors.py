"""Errors about what the user gave us: files, columns, labels, settings, checkpoints."""


class InputError(ValueError):
    """One line for the user: what was expected, what was received, what to do."""
