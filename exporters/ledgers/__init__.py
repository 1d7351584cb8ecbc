"""`ledger`: the same rows through every runtime that is installed, file by file."""
