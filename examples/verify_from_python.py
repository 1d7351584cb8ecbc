"""Checks a folder of export-mobile against its manifest: python examples/verify_from_python.py FOLDER

`rebuild=True` would also make the export again and compare the bytes.
"""

import sys

from exporters import InputError, VerifyRequest, verify

try:
    result = verify(VerifyRequest(folder=sys.argv[1]))
except InputError as error:  # no manifest, or a damaged one
    raise SystemExit(error) from error
for problem in result.problems:
    print(problem.line)
print("passed" if result.passed else f"{len(result.problems)} problems")
