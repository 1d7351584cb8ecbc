#!/bin/bash
# Instructions of one inference on an emulated ARM phone processor (cortex-a76), for .tflite and .onnx files:
#   bash benchmarks/arm_instructions.sh RESULT.json LENGTH FILE...
# Debian 12 with the packages gcc, libc6-dev and qemu-user (7.2: built with plugins), and a Python with this package
# (PYTHON names it). Counted as `export-mobile check --arch arm64` does, on a row of LENGTH tokens without padding.
# Instructions are no time: they say how much work a file is for a phone's kernels, and repeat to about a hundredth.
set -euo pipefail
result=$(realpath -m "$1"); length=$2; shift 2
files=(); for file in "$@"; do files+=("$(realpath "$file")"); done
source "$(dirname "$0")/arm_root.sh"
PYTHONPATH=$project "$python" "$project/benchmarks/arm_calls.py" "$result" "$length" "${files[@]}"
