# To be sourced by scripts that run files on an emulated ARM phone processor (cortex-a76). Fetches ARM's Python and the ARM
# wheels of the runtimes into a temporary folder, $work, and installs nothing; `on_arm SCRIPT ARGUMENTS` runs Python
# there, with the words of $emulator_options for qemu. Debian with qemu-user; PYTHON names a Python 3.11 that has this
# package and tflite-runtime.
python=$(realpath -s "$(command -v "${PYTHON:-python3.11}")")
project=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT; cd "$work"
emulator_options=()

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

# Not -cpu max: qemu 7.2 then computes wrong int8 results (SVE).
on_arm() {
  qemu-aarch64 "${emulator_options[@]}" -cpu cortex-a76 -L "$work/root" -E "PYTHONPATH=$work/site" \
    -E "PYTHONHOME=$work/root/usr" "$work/root/usr/bin/python3.11" "$@"
}
