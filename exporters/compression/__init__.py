"""Compression as a function: `compress(CompressRequest(...))`, and what a compression chooses by, for every command."""
