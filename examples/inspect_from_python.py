"""What a .tflite or .onnx file holds and what the runtime will do with it, from Python.

python examples/inspect_from_python.py FILE
"""

import sys

from exporters import InputError, InspectRequest, inspect

if len(sys.argv) != 2:
    sys.exit(__doc__)
try:
    found = inspect(InspectRequest(file=sys.argv[1]))
except InputError as error:
    sys.exit(str(error))
print(f"{found.file}: {found.size_bytes:,} bytes, {found.scheme}")
for layer, size_bytes in found.layers.items():
    print(f"  {layer}: {size_bytes:,} bytes")
plan = found.plan
if plan.problem:
    print(f"{plan.runtime} cannot load it: {plan.problem}")
elif plan.delegate:
    taken = sum(plan.delegated.values())
    print(f"{plan.runtime}: {plan.delegate} takes {taken} operators in {plan.partitions} partitions")
else:
    print(f"{plan.runtime} runs {sum(plan.kept.values())} operators; put in: {dict(plan.fused)}")
