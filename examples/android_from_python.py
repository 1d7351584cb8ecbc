"""Makes an export part of an Android app: python examples/android_from_python.py FOLDER com.example.app MyApp/app

FOLDER was written by `export-mobile --target tflite ...`; MyApp/app is the module, with its build.gradle.kts.
"""

import sys

from exporters import AndroidRequest, android

if len(sys.argv) != 4:
    sys.exit(__doc__)
folder, package, module = sys.argv[1:]
result = android(AndroidRequest(folder=folder, package=package, output=module))
print(f"{len(result.written)} files in {result.output}; in Kotlin: {result.call}")
