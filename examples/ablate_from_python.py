"""What each layer of a token model is worth, from Python: the accuracy without it.

python examples/ablate_from_python.py CHECKPOINT LABELLED_ROWS.tsv
"""

import sys

from exporters import AblateRequest, InputError, ablate

if len(sys.argv) != 3:
    sys.exit(__doc__)
try:
    found = ablate(AblateRequest(checkpoint=sys.argv[1], data=sys.argv[2], what="layers"))
except InputError as error:
    sys.exit(str(error))
print(f"whole model: {found.whole.metric} {found.whole.value:.1f} on {found.whole.n} rows")
for layer, change in enumerate(found.layers):
    print(f"without layer {layer}: {change.points:+.1f} points")
