"""The projection op: one C++ core, its wrappers for each runtime, and a reference in Python."""
