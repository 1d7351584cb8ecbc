"""model.safetensors: the header, where tensors lie, which there are, and what they hold."""

import json
import math
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.attack import materials
from tests.attack.case import Case
from tests.attack.outcome import Kind, Outcome
from tests.attack.readers import export, read_checkpoint
from tests.attack.values import damage, document_bytes, number, text, wrong_value

MODELS = ("bert", "bert", "albert", "ghostbert", "powerbert", "tagger", "mobilebert", "prado")
MODELS += ("distilbert", "electra", "roberta")
FILE = "model.safetensors"
DTYPES = ("F64", "F32", "F16", "BF16", "I64", "I32", "I8", "U8", "BOOL", "F8_E4M3", "F7", "", "f32", "U64", "C64")


def split(content: bytes) -> tuple[dict[str, Any], bytes]:
    """Header and tensors."""
    (size,) = struct.unpack_from("<Q", content)
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def joined(header: Any, data: bytes) -> bytes:
    written = header if isinstance(header, bytes) else document_bytes(header)
    return struct.pack("<Q", len(written)) + written + data


def header(rng: random.Random, folder: Path) -> Outcome:
    """One field of the header is another: names, types, shapes, places."""
    case = Case.of("safetensors: header", folder)
    model = rng.choice(MODELS)
    path = materials.copy(model, case.inputs) / FILE
    found, data = split(path.read_bytes())
    names = [name for name in found if name != "__metadata__"]
    name = rng.choice(names)
    entry, other = found[name], found[rng.choice(names)]
    start, end = entry["data_offsets"]

    def shape() -> None:
        sizes = entry["shape"]
        entry["shape"] = rng.choice(
            (
                sizes[::-1],
                [*sizes, 1],
                [1, *sizes],
                sizes[:-1],
                [math.prod(sizes)],
                [number(rng)] * len(sizes),
                [-size for size in sizes],
                [float(size) for size in sizes],
                [2**32, 2**32],
                [0, *sizes],
                wrong_value(rng),
            )
        )

    def offsets() -> None:
        entry["data_offsets"] = rng.choice(
            (
                [end, start],
                [start - 1, end - 1],
                [start + 1, end + 1],
                other["data_offsets"],
                [start, start],
                [0, 0],
                [start, end + 4],
                [-4, end],
                [start, 2**63],
                [number(rng), number(rng)],
                [start],
                [],
                wrong_value(rng),
            )
        )

    changes: dict[str, Callable[[], object]] = {
        "dtype": lambda: entry.update(dtype=rng.choice((*DTYPES, wrong_value(rng)))),
        "shape": shape,
        "offsets": offsets,
        "no dtype": lambda: entry.pop("dtype"),
        "no shape": lambda: entry.pop("shape"),
        "no offsets": lambda: entry.pop("data_offsets"),
        "renamed": lambda: found.update({text(rng): found.pop(name)}),
        "missing": lambda: found.pop(name),
        "entry": lambda: found.update({name: wrong_value(rng)}),
        "metadata": lambda: found.update(__metadata__=wrong_value(rng, {"format": "pt"})),
        "more fields": lambda: entry.update({text(rng): wrong_value(rng)}),
        "the same place twice": lambda: found.update({f"{name}.copy": dict(entry)}),
    }
    what = rng.choice(list(changes))
    changes[what]()
    path.write_bytes(joined(found, data))
    return read_checkpoint(rng, case, model, f"{model}: {what} of {name}")


def container(rng: random.Random, folder: Path) -> Outcome:
    """The file around the tensors: sizes that lie, cuts, bytes, twice the same name, a huge header."""
    case = Case.of("safetensors: container", folder)
    model = rng.choice(MODELS)
    path = materials.copy(model, case.inputs) / FILE
    content = path.read_bytes()
    found, data = split(content)
    plain = json.dumps(found).encode()
    depth = rng.choice((100, 2000, 200_000))
    first = next(name for name in found if name != "__metadata__")
    makers: dict[str, Callable[[], bytes]] = {
        "size of the header": lambda: (
            struct.pack("<Q", rng.choice((0, 1, 7, 2**31, 2**40, 2**63, 2**64 - 1))) + content[8:]
        ),
        "twice the same name": lambda: joined(plain[:-1] + f', "{first}": {json.dumps(found[first])}}}'.encode(), data),
        "nested header": lambda: joined(b'{"a":' * depth + b"1" + b"}" * depth, data),
        "a header of blanks": lambda: joined(plain + b" " * (rng.choice((1, 100, 120)) << 20), data),
        "many tensors": lambda: joined(
            {**found, **{f"t{n}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for n in range(50_000)}}, data
        ),
        "not an object": lambda: joined(rng.choice((b"[]", b"1", b"null", b'"a"', b"{", b"\xff\xfe{}")), data),
        "cut": lambda: content[: rng.randrange(len(content))],
        "cut in the tensors": lambda: content[: -rng.randint(1, len(data))],
        "bytes after the end": lambda: content + bytes(rng.randint(1, 100)),
        "a pickle": lambda: b"\x80\x04cos\nsystem\n(S'touch owned'\ntR.",
    }
    what = rng.choice([*makers, "damaged", "damaged"])
    if what == "damaged":
        what, changed = damage(rng, content[: 8 + len(plain)])
        changed += data
    else:
        changed = makers[what]()
    path.write_bytes(changed)
    return read_checkpoint(rng, case, model, f"{model}: {what}", exports=0.03)


def values(rng: random.Random, folder: Path) -> Outcome:
    """A tensor holds NaN, infinities, huge, tiny, zero or sign-flipped numbers. Most are read without an export."""
    case = Case.of("safetensors: values", folder)
    model = rng.choice(MODELS)
    path = materials.copy(model, case.inputs) / FILE
    found, data = split(path.read_bytes())
    names = [name for name in found if name != "__metadata__"]
    changed, what, done = bytearray(data), rng.choice(list(_CHANGES)), []
    chosen = names if rng.random() < 0.1 else rng.sample(names, rng.choice((1, 1, 2)))
    for name in chosen:
        start, end = found[name]["data_offsets"]
        if found[name]["dtype"] != "F32":
            continue
        array = np.frombuffer(data[start:end], np.float32).copy()
        with np.errstate(all="ignore"):
            if array.size and rng.random() < 0.5:
                place = rng.randrange(array.size)
                array[place] = _CHANGES[what](array)[place]
                done.append(f"{name}[{place}]")
            else:
                array = _CHANGES[what](array).astype(np.float32)
                done.append(name)
        changed[start:end] = array.tobytes()
    path.write_bytes(joined(found, bytes(changed)))
    shown = "all" if len(done) > 3 else ", ".join(done)
    # Values that are not numbers are refused while reading; finite ones, however large, go through an export.
    return read_checkpoint(rng, case, model, f"{model}: {what} in {shown}", exports=0.04)


_CHANGES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "NaN": lambda x: x * np.nan,
    "infinity": lambda x: x + np.inf,
    "-infinity": lambda x: x - np.inf,
    "1e38": lambda x: np.full_like(x, 1e38),
    "1e20": lambda x: x * 1e20,
    "1e4": lambda x: x * 1e4,
    "1e-30": lambda x: x * 1e-30,
    "denormal": lambda x: np.full_like(x, 1e-44),
    "zero": np.zeros_like,
    "sign": np.negative,
    "constant": lambda x: np.full_like(x, 0.5),
    "half": lambda x: x * 65_520,
}


def extreme(rng: random.Random, folder: Path) -> Outcome:
    """Finite, but extreme weights through a whole export: a file that works, or one line that says why not."""
    case = Case.of("weights: whole exports", folder)
    model = rng.choice(("bert", "mobilebert", "albert", "prado", "tagger", "ghostbert", "powerbert"))
    path = materials.copy(model, case.inputs) / FILE
    found, data = split(path.read_bytes())
    names = [name for name in found if name != "__metadata__" and found[name]["dtype"] == "F32"]
    changed = bytearray(data)
    name, factor = rng.choice(names), rng.choice((0.0, -1.0, 1e-30, 1e-6, 1e3, 1e4, 1e6, 1e12, 1e20, 1e30))
    for name_ in names if rng.random() < 0.1 else [name]:
        start, end = found[name_]["data_offsets"]
        with np.errstate(all="ignore"):
            array = (np.frombuffer(data[start:end], np.float32) * np.float32(factor)).astype(np.float32)
        changed[start:end] = array.tobytes()
    path.write_bytes(joined(found, bytes(changed)))
    return case.run(f"{model}: {name} times {factor:g}", export(rng, case, model))


def tensors(rng: random.Random, folder: Path) -> Outcome:
    """Tensors that are missing, too many, or of other sizes, in a sound file; shards and their index."""
    case = Case.of("safetensors: which tensors", folder)
    model = rng.choice(MODELS)
    place = materials.copy(model, case.inputs)
    found, data = split((place / FILE).read_bytes())
    names = [name for name in found if name != "__metadata__"]
    arrays = {name: (found[name]["shape"], data[slice(*found[name]["data_offsets"])]) for name in names}
    name = rng.choice(names)
    shape, held = arrays[name]
    what = rng.choice(("missing", "more", "wider", "empty", "swapped", "prefix", "index", "two files", "scalar"))
    if what == "missing":
        del arrays[name]
    elif what == "more":
        arrays[rng.choice((text(rng), "x.weight", f"{name}.1"))] = ([2], bytes(8))
    elif what == "wider" and shape:
        arrays[name] = ([*shape[:-1], shape[-1] * 2], held * 2)
    elif what == "empty":
        arrays[name] = ([0], b"")
    elif what == "swapped":
        other = rng.choice(names)
        arrays[name], arrays[other] = arrays[other], arrays[name]
    elif what == "prefix":
        arrays = {f"model.{key}": value for key, value in arrays.items()}
    elif what == "scalar":
        arrays[name] = ([], held[:4])
    written = packed(arrays)
    (place / FILE).write_bytes(written)
    if what == "index":
        (place / FILE).rename(place / "model-00001-of-00001.safetensors")
        shards = {
            key: rng.choice(("model-00001-of-00001.safetensors", "../aside/secret.txt", "/dev/zero", "x", 3))
            for key in arrays
        }
        index = rng.choice(({"weight_map": shards}, {"weight_map": wrong_value(rng)}, wrong_value(rng)))
        (place / "model.safetensors.index.json").write_bytes(document_bytes(index))
    elif what == "two files":
        (place / "model-00001-of-00002.safetensors").write_bytes(written)
    return read_checkpoint(rng, case, model, f"{model}: {what}, {name}", exports=0.03)


def packed(arrays: dict[str, tuple[list[int], bytes]]) -> bytes:
    entries, data = {}, b""
    for name, (shape, held) in arrays.items():
        entries[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(held)]}
        data += held
    return joined(entries, data)


KINDS: dict[str, Kind] = {
    "safetensors header": header,
    "safetensors container": container,
    "safetensors values": values,
    "safetensors tensors": tensors,
    "weights extreme": extreme,
}
SHARES = {"safetensors header": 4, "safetensors container": 2, "safetensors values": 2, "safetensors tensors": 2}
SHARES["weights extreme"] = 1
