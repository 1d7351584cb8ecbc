#!/bin/bash
# Instructions of one inference on an emulated ARM phone processor (cortex-a76), for .tflite and .onnx files:
#   bash benchmarks/arm_instructions.sh RESULT.json LENGTH FILE...
# Debian 12 with the packages gcc, libc6-dev and qemu-user (7.2: built with plugins), and Python 3.11 with this package
# and its extra tflite-runtime (PYTHON names it). A call is the difference between processes of 6 and of 2 calls.
# Instructions are no time: they say how much work a file is for a phone's kernels, and repeat to about a hundredth.
set -euo pipefail
result=$(realpath -m "$1"); length=$2; shift 2
files=(); for file in "$@"; do files+=("$(realpath "$file")"); done
source "$(dirname "$0")/arm_root.sh"
gcc -O2 -shared -fPIC "$project/benchmarks/count_instructions.c" -o count.so
emulator_options=(-plugin "$work/count.so" -d plugin)

count() { # FILE CALLS -> instructions of a process that loads the file and calls it so often
  on_arm "$project/benchmarks/arm_calls.py" "$1" "$length" "$2" 2>&1 | sed -n 's/^instructions: //p'
}

few=2 many=6
{
  for file in "${files[@]}"; do
    echo "$(basename "$file") $(((($(count "$file" $many) - $(count "$file" $few))) / (many - few)))"
  done
} | tee counts.txt
"$python" -c '
import json, sys
files = dict(line.split() for line in open("counts.txt"))
document = {
    "command": f"bash benchmarks/arm_instructions.sh {sys.argv[1].split(chr(47))[-1]} {sys.argv[2]} " + " ".join(files),
    "processor": "cortex-a76, emulated by qemu-aarch64", "threads": 1, "length": int(sys.argv[2]),
    "instructions": {name: int(count) for name, count in files.items()},
}
open(sys.argv[1], "w").write(json.dumps(document, indent=2) + "\n")' "$result" "$length"
