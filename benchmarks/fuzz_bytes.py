"""Any bytes through a bytes-in graph in LiteRT: every row must give the features of the C++ core, bit for bit.

    PYTHONPATH=tests python benchmarks/fuzz_bytes.py RESULT.json [--rows N] [--seed N] [--memcheck N]

Every byte repeated, every pair of bytes repeated and every character of Unicode, each once; all other rows are drawn:
uniform bytes, text with flipped bits, runs, few kinds of bytes, ends around the room. Half a millisecond a row.

--memcheck runs the first N rows again under valgrind and reports errors with a frame in LiteRT's libraries. All tensors
lie in one allocation there, so it sees reads outside of all tensors and uses of what was never written, not reads of a
neighbour.
"""

import argparse
import collections
import hashlib
import importlib.metadata
import itertools
import json
import os
import platform
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
from ai_edge_litert.interpreter import Interpreter

from exporters.bytes_in.settings import BytesIn
from exporters.formats.tflite.bytes_in import bytes_in_model
from models_tf.ops.projection.library import HostProjection
from quantize.tflite.flatbuffer import write_model
from support import bytes_fronts
from support.projection_strings import _text

ROWS = 1_000_000
BATCH = 1_000
SHOWN = 10
MEMCHECK = ("valgrind", "--tool=memcheck", "--error-limit=no", "--xml=yes")
# The characters that the graph treats in ways of their own.
FEW = [b" ", b"\0", b"a", b"B", b"'", b"-", b"\x80", b"\xbf", b"\xc3", b"\xe2", b"\xed", b"\xf0", b"\xff", "é".encode()]


def single_bytes(room: int) -> Iterator[bytes]:
    return (bytes([byte]) * room for byte in range(256))


def pairs_of_bytes(room: int) -> Iterator[bytes]:
    return (bytes(pair) * (room // 2) for pair in itertools.product(range(256), repeat=2))


def characters(room: int) -> Iterator[bytes]:
    """As many one-character words as fit."""
    row = b""
    for code in itertools.chain(range(0xD800), range(0xE000, 0x110000)):
        word = chr(code).encode() + b" "
        if len(row) + len(word) > room:
            yield row
            row = b""
        row += word
    yield row


def drawn(room: int, rng: random.Random) -> Iterator[bytes]:
    while True:
        kind = rng.randrange(6)
        if kind == 0:
            yield rng.randbytes(rng.randrange(room + 9))
        elif kind <= 2:
            text = bytearray(b" ".join(_text(rng) for _ in range(1 + room // 64)))
            for _ in range(rng.randrange(5) if text else 0):
                text[rng.randrange(len(text))] ^= 1 << rng.randrange(8)
            yield bytes(text)
        elif kind == 3:
            runs = (rng.randbytes(rng.randint(1, 4)) * rng.randrange(1, room) for _ in range(rng.randint(1, 4)))
            yield b"".join(runs)[: rng.randrange(room + 9)]
        elif kind == 4:
            few = rng.sample(FEW, rng.randint(2, 6))
            yield b"".join(rng.choices(few, k=rng.randrange(room + 9)))
        else:
            yield _end(room, rng)


def _end(room: int, rng: random.Random) -> bytes:
    """Any bytes around the end of the room, behind text."""
    start = _text(rng)
    size = max(0, room - rng.randrange(12))
    start = (start * (size // max(1, len(start)) + 1))[:size] if start else b"x" * size
    return start + rng.randbytes(rng.randrange(16))


def texts(room: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """(kind, row); the kinds take turns until they end."""
    rng = random.Random(seed)
    kinds = {
        "every byte repeated": single_bytes(room),
        "every pair of bytes repeated": pairs_of_bytes(room),
        "every character": characters(room),
        "drawn": drawn(room, rng),
    }
    while True:
        for name, rows in list(kinds.items()):
            row = next(rows, None)
            if row is None:
                del kinds[name]
            else:
                yield name, row


def fuzz(name: str, rows: int, seed: int) -> dict[str, Any]:
    config, _ = bytes_fronts.CONFIGS[name]
    model = write_model(bytes_in_model(BytesIn(config=config)))
    interpreter = Interpreter(model_content=model, num_threads=1)
    core = HostProjection(config)
    source = itertools.islice(texts(config.max_bytes, seed), rows)
    counts: collections.Counter[str] = collections.Counter()
    different: list[str] = []
    start, cpu = time.monotonic(), time.process_time()
    while batch := list(itertools.islice(source, BATCH)):
        counts.update(kind for kind, _ in batch)
        data = [text for _, text in batch]
        expected = core.project(data)[0]
        given = bytes_fronts.rows(data, config.max_bytes)
        for text, features, wanted in zip(data, bytes_fronts.run_tflite(interpreter, given), expected, strict=True):
            if not np.array_equal(features, wanted):
                different.append(text.hex())
        if counts.total() % (100 * BATCH) == 0:
            print(f"{counts.total()} rows, {len(different)} differ, {time.monotonic() - start:.0f} s", file=sys.stderr)
    return {
        "config": name,
        "model_sha256": hashlib.sha256(model).hexdigest(),
        "seed": seed,
        "rows": counts.total(),
        "kinds": dict(counts),
        "different": len(different),
        "different_rows": different[:SHOWN],
        "seconds": round(time.monotonic() - start, 1),
        "processor_seconds": round(time.process_time() - cpu, 1),
    }


def memcheck(name: str, rows: int, seed: int) -> dict[str, Any]:
    """Errors that valgrind finds in a process that runs the first rows; those with a frame in LiteRT's libraries."""
    with tempfile.TemporaryDirectory() as folder:
        found, result = Path(folder, "errors.xml"), Path(folder, "result.json")
        script = [sys.executable, __file__, str(result), "--rows", str(rows), "--seed", str(seed), "--config", name]
        # Python's own allocator would hide what lies behind an object.
        environment = {**os.environ, "PYTHONMALLOC": "malloc"}
        subprocess.run([*MEMCHECK, f"--xml-file={found}", *script], check=True, env=environment)
        errors = ET.parse(found).getroot().findall("error")
        checked = json.loads(result.read_text())
    kinds: collections.Counter[str] = collections.Counter()
    for error in errors:
        # The innermost frame in LiteRT; a leak is what the process still holds at its end.
        frames = [frame for frame in error.iter("frame") if "litert" in frame.findtext("obj", "")]
        kind = error.findtext("kind", "")
        if frames and not kind.startswith("Leak_"):
            kinds[f"{kind} in {frames[0].findtext('fn', 'a function without a name')}"] += 1
    return {"rows": checked["rows"], "different": checked["different"], "errors_in_litert": dict(kinds)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", type=Path)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--config", choices=sorted(bytes_fronts.CONFIGS), default="bundled")
    parser.add_argument("--memcheck", type=int, default=0, metavar="N", help="rows that run under valgrind, too")
    args = parser.parse_args()
    if args.memcheck and shutil.which("valgrind") is None:
        parser.error("--memcheck needs valgrind.")
    options = " ".join(sys.argv[2:])
    document = {
        "command": f"PYTHONPATH=tests python benchmarks/fuzz_bytes.py {args.result.name} {options}".rstrip(),
        "machine": platform.machine(),
        "litert": importlib.metadata.version("ai-edge-litert"),
        **fuzz(args.config, args.rows, args.seed),
    }
    if args.memcheck:
        document["memcheck"] = memcheck(args.config, args.memcheck, args.seed)
    args.result.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
