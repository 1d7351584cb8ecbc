"""Check a folder of export-mobile against its manifest; `rebuild=True` would also make the export again.

python examples/verify_from_python.py FOLDER_OF_AN_EXPORT
"""

import sys

from exporters import InputError, VerifyRequest, verify

if len(sys.argv) != 2:
    sys.exit(__doc__)
try:
    result = verify(VerifyRequest(folder=sys.argv[1]))
except InputError as error:  # no manifest, or a damaged one
    raise SystemExit(error) from error
for problem in result.problems:
    print(problem.line)
print("passed" if result.passed else f"{len(result.problems)} problems")
