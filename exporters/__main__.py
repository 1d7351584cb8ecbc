"""Entry point of `export-mobile` and `python -m exporters`.

A module of its own so that Ctrl-C is one line even while the command itself is being imported.
"""

import sys


def main() -> int:
    try:
        from exporters.cli import main as run

        return run()
    except KeyboardInterrupt:
        print("export-mobile: interrupted", file=sys.stderr)
        return 2  # EXIT_INTERRUPTED, whose module may not be imported yet


if __name__ == "__main__":
    sys.exit(main())
