"""Which words a model that drops tokens keeps, from Python.

python examples/explain_from_python.py CHECKPOINT "some text"
"""

import sys

from exporters import ExplainRequest, InputError, explain

if len(sys.argv) != 3:
    sys.exit(__doc__)
checkpoint, text = sys.argv[1:3]
try:
    (found,) = explain(ExplainRequest(checkpoint=checkpoint, text=[text])).texts
except InputError as error:
    sys.exit(str(error))
for number, kept in enumerate(found.layers, start=1):
    words = [word.text for word in found.words if set(word.places) & set(kept)]
    print(f"layer {number} keeps {len(kept)} tokens: {' '.join(words)}")
print(f"answer: {', '.join(answer.label for answer in found.answers)}")
