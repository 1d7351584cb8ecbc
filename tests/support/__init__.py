"""Helpers that tests share: tiny models, tiny files, oracles."""
