"""The command line: one module for each subcommand. Nothing else parses arguments or chooses exit codes."""
