"""What each part of a token model costs, from Python.

python examples/profile_from_python.py CHECKPOINT
"""

import sys

from exporters import InputError, ProfileRequest, profile

if len(sys.argv) != 2:
    sys.exit(__doc__)
try:
    found = profile(ProfileRequest(checkpoint=sys.argv[1], target="tflite", rounds=5))
except InputError as error:
    sys.exit(str(error))
for part in found.parts:
    print(f"{part.part}: {part.parameters:,} parameters, {part.multiply_adds:,} multiply-adds")
for file in found.files:
    time = "not timed" if file.timing is None else f"{file.timing.whole_ms:.3f} ms"
    print(f"{file.name}: {file.size_bytes:,} bytes, {time}")
