"""Is a shipped file as good as another one? From Python.

python examples/check_from_python.py FILE_OR_FOLDER LABELLED_ROWS.tsv OTHER_FILE_OR_FOLDER
"""

import sys

from exporters import CheckRequest, InputError, check

if len(sys.argv) != 4:
    sys.exit(__doc__)
try:
    result = check(CheckRequest(model=sys.argv[1], data=sys.argv[2], against=sys.argv[3], max_drop=0.5))
except InputError as error:
    sys.exit(str(error))
for file in result.files:
    drop = file.drop
    print(f"{file.name}: {file.value:.2f} on {file.n} rows, drop {drop.points:.2f} ({drop.low:.2f} to {drop.high:.2f})")
    for flip in file.flips:
        print(f"  row {flip.row}: {flip.text!r} was {flip.before}, is {flip.after}")
sys.exit(result.exit_code)
