"""Runtimes that are not those of this process: other processors, browsers, packages of npm, and where they are kept."""
