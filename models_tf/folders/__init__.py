"""Folders that commands write: complete or absent, marked as ours, and known to whoever must end a run early."""
