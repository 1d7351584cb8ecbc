# To be sourced by scripts that run files on an emulated ARM phone processor (cortex-a76). Uses what `export-mobile setup
# arm64` keeps in the cache, and a temporary folder, $work; `on_arm SCRIPT ARGUMENTS` runs Python there, with $work/site
# before its packages and with the words of $emulator_options for qemu. Debian with qemu-user; PYTHON names a Python that
# has this package.
python=$(realpath -s "$(command -v "${PYTHON:-python3.11}")")
project=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT; cd "$work"
emulator_options=()
mkdir site
PYTHONPATH=$project "$python" -m exporters setup arm64 >&2

on_arm() {
  local words
  mapfile -t words < <(PYTHONPATH=$project "$python" -c '
import sys
from pathlib import Path
from exporters.runtimes import arm64
work, script, *rest = sys.argv[1:]
at = rest.index("--")
print(*arm64.command(Path(script), rest[at + 1 :], options=rest[:at], packages=(Path(work, "site"),)), sep="\n")
' "$work" "$1" "${emulator_options[@]}" -- "${@:2}")
  "${words[@]}"
}
