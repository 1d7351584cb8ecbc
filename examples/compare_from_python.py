"""Compare exports, and print the files that no other one beats.

python examples/compare_from_python.py EXPORT_FOLDER EXPORT_FOLDER ...
"""

import sys

from exporters import CompareRequest, InputError, compare

if len(sys.argv) < 2:
    sys.exit(__doc__)
try:
    found = compare(CompareRequest(reports=tuple(sys.argv[1:]), max_size_bytes=200 * 1024))
except InputError as error:  # not a report, or reports with different metrics
    raise SystemExit(error) from error
for number in found.frontier:
    one = found.candidates[number]
    accuracy = "" if one.accuracy is None else f", {one.accuracy.low:.1f} to {one.accuracy.high:.1f}"
    print(f"{one.name}: {one.size_bytes:,} bytes{accuracy}, {', '.join(found.picks_of(number)) or 'not picked'}")
