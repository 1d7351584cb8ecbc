#!/bin/bash
# Bytes-in graphs on an emulated ARM phone processor (cortex-a76), against the C++ core on this machine:
#   bash benchmarks/arm_bytes.sh RESULT.json [FOLDER_OF_AN_EXPORT ROWS.tsv]
# The export has int8 files of bytes-in, features-in and text-in graphs. Debian with qemu-user; Python 3.11 with this
# package and tflite-runtime (PYTHON names it). Some minutes; arm_root.sh says what is fetched.
set -euo pipefail
result=$(realpath -m "$1"); shift
given=(); for path in "$@"; do given+=("$(realpath "$path")"); done
source "$(dirname "$0")/arm_root.sh"
cp -r "$project/models_tf" "$project/tests/support" site/
script=$project/benchmarks/arm_bytes.py
export PYTHONPATH=$project:$project/tests

"$python" "$script" prepare job "${given[@]}"
"$python" "$script" run job here.npz
on_arm "$script" run job arm.npz
"$python" "$script" compare job here.npz arm.npz "$result"
