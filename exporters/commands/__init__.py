"""The command line: one module per command. Nothing else parses arguments or chooses exit codes."""
