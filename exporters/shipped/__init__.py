"""Model files that were exported before, with what lies beside them."""
