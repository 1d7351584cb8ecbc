"""How long model files take, side by side, from Python.

python examples/bench_from_python.py FILE...
"""

import sys

from exporters import BenchRequest, InputError, bench

if len(sys.argv) < 2:
    sys.exit(__doc__)
try:
    found = bench(BenchRequest(files=sys.argv[1:], runtime="all", rounds=10))
except InputError as error:
    sys.exit(str(error))
for file in found.files:
    times, ratio = file.times(found.clock), file.ratio(found.clock)
    compared = "" if ratio is None else f", {ratio.median:.2f} of the first"
    print(f"{file.path} on {file.runtime}: {times.median_ms:.3f} ms, p95 {times.p95_ms:.3f} ms{compared}")
