"""The rows of a request: those that calibrate and those that measure."""
