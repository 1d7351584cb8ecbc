#!/bin/bash
# The int8 files of an export on an emulated ARM phone processor (cortex-a76) against this machine:
#   bash benchmarks/arm.sh FOLDER_OF_AN_EXPORT ROWS.tsv RESULT.json
# Debian with g++-aarch64-linux-gnu and qemu-user; Python 3.11 with this package and tflite-runtime
# (PYTHON names it). Fetches ARM's Python and the ARM wheels into a temporary folder, installs nothing.
# Emulated time says nothing about a phone, so none is measured.
set -euo pipefail
export_folder=$(realpath "$1"); rows=$(realpath "$2"); result=$(realpath -m "$3")
python=$(realpath -s "$(command -v "${PYTHON:-python3.11}")")
project=$(realpath "$(dirname "$0")/..")
core=$project/models_tf/ops/projection
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT; cd "$work"

mkdir -p apt/lists/partial apt/cache/archives/partial root/proc site
options=(-o "Dir::State=$work/apt" -o Dir::State::status=/dev/null -o "Dir::Cache=$work/apt/cache"
         -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o "APT::Sandbox::User=$(id -un)")
apt-get "${options[@]}" -qq update
apt-get "${options[@]}" -qq install -y --download-only --no-install-recommends python3.11-minimal libpython3.11-stdlib \
  libstdc++6 zlib1g > /dev/null
for package in apt/cache/archives/*.deb; do dpkg-deb -x "$package" root; done
# Runtimes choose kernels by this file; it must say what -cpu says.
printf '%s\t: %s\n' processor 0 Features \
  "fp asimd aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp" \
  "CPU implementer" 0x41 "CPU architecture" 8 "CPU variant" 0x4 "CPU part" 0xd0b "CPU revision" 1 > root/proc/cpuinfo

wheels=()
for name in ai-edge-litert tflite-runtime onnxruntime numpy flatbuffers; do
  wheels+=("$name==$("$python" -c "import importlib.metadata as m; print(m.version('$name'))")")
done
"$python" -m pip download -q --no-deps --only-binary=:all: --python-version 3.11 -d wheels "${wheels[@]}" \
  --platform manylinux_2_34_aarch64 --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 \
  --platform manylinux2014_aarch64 --platform any 2> >(grep -v WARNING >&2)
for wheel in wheels/*.whl; do "$python" -m zipfile -e "$wheel" site; done

cp -r "$project/models_tf" site/
for library in projection:c_api tflite:tflite_op ort:ort_op; do
  aarch64-linux-gnu-g++ -std=c++17 -O2 -DNDEBUG -fPIC -fvisibility=hidden -ffp-contract=off -pthread -shared \
    -static-libgcc -static-libstdc++ -Wl,--exclude-libs,ALL "$core"/{config,text,hashing,projection}.cc \
    "$core/${library#*:}.cc" -o "site/models_tf/ops/projection/libexport_mobile_${library%:*}.so"
done

PYTHONPATH=$project "$python" "$project/benchmarks/arm_rows.py" "$export_folder" "$rows" here.npz
# Not -cpu max: qemu 7.2 then computes wrong int8 results (SVE).
qemu-aarch64 -cpu cortex-a76 -L root -E "PYTHONPATH=$work/site" -E "PYTHONHOME=$work/root/usr" \
  root/usr/bin/python3.11 "$project/benchmarks/arm_rows.py" "$export_folder" "$rows" arm.npz
PYTHONPATH=$project "$python" "$project/benchmarks/arm_rows.py" --compare here.npz arm.npz "$result"
