"""The result of an export, as a value and for people."""
