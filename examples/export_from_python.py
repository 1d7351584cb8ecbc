"""The command's job from Python: export the bundled model and read the report.

python examples/export_from_python.py OUTPUT_FOLDER
"""

import sys

from exporters import ExportRequest, export

if len(sys.argv) != 2:
    sys.exit(__doc__)
report = export(ExportRequest(model="prado", quantize="int8", target="tflite", output=sys.argv[1]))
for file in report.files:
    print(f"{file.name}: {file.size_bytes} bytes")
for stage in report.accuracy:
    print(f"{stage.stage}: {stage.score.value:.4f}")
sys.exit(0 if report.passed else 1)
