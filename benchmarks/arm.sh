#!/bin/bash
# The int8 files of an export on an emulated ARM phone processor (cortex-a76) against this machine:
#   bash benchmarks/arm.sh FOLDER_OF_AN_EXPORT ROWS.tsv RESULT.json
# Debian with g++-aarch64-linux-gnu and qemu-user; Python 3.11 with this package and tflite-runtime
# (PYTHON names it). ARM's Python and the ARM wheels are those of `export-mobile setup arm64`.
# Emulated time says nothing about a phone, so none is measured.
set -euo pipefail
export_folder=$(realpath "$1"); rows=$(realpath "$2"); result=$(realpath -m "$3")
source "$(dirname "$0")/arm_root.sh"
core=$project/models_tf/ops/projection

cp -r "$project/models_tf" site/
for library in projection:c_api tflite:tflite_op ort:ort_op; do
  aarch64-linux-gnu-g++ -std=c++17 -O2 -DNDEBUG -fPIC -fvisibility=hidden -ffp-contract=off -pthread -shared \
    -static-libgcc -static-libstdc++ -Wl,--exclude-libs,ALL "$core"/{config,text,hashing,projection}.cc \
    "$core/${library#*:}.cc" -o "site/models_tf/ops/projection/libexport_mobile_${library%:*}.so"
done

PYTHONPATH=$project "$python" "$project/benchmarks/arm_rows.py" "$export_folder" "$rows" here.npz
on_arm "$project/benchmarks/arm_rows.py" "$export_folder" "$rows" arm.npz
PYTHONPATH=$project "$python" "$project/benchmarks/arm_rows.py" --compare here.npz arm.npz "$result"
