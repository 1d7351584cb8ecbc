"""Compression as a function, `compress(CompressRequest(...))`, and the data it chooses by, for every command."""
