"""Model files, .tflite and .onnx, for every command that reads them: fields through the schema, and bytes."""

import functools
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.attack import materials
from tests.attack.case import Case
from tests.attack.outcome import Kind, Outcome
from tests.attack.readers import read_model_file
from tests.attack.values import damage, number, text

TFLITE = ("export-bert/model_int8.tflite", "export-prado/features_int8.tflite", "export-prado/bytes_int8.tflite")
TFLITE += ("export-prado/text_int8.tflite",)
ONNX = ("export-bert/model_int8.onnx", "export-prado/features_int8.onnx", "export-prado/bytes_int8.onnx")
ONNX += ("export-prado/text_int8.onnx", "export-tagger/model_float32.onnx")


def _folder(case: Case, name: str) -> Path:
    """A copy of the export folder of a file, with that model file alone."""
    source = materials.place() / name
    target = case.inputs / "export"
    shutil.copytree(source.parent, target)
    for path in target.iterdir():
        if path.suffix in (".tflite", ".onnx") and path.name != source.name:
            path.unlink()
    return target / source.name


def tflite_fields(rng: random.Random, folder: Path) -> Outcome:
    """One to three fields of tables, vectors or options of a .tflite file."""
    from quantize.tflite.graph import schema

    case = Case.of(".tflite: fields", folder)
    path = _folder(case, rng.choice(TFLITE))
    content = path.read_bytes()
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(content, 0))
    done = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        owner, field = rng.choice(list(_fields(model)))
        before = getattr(owner, field)
        setattr(owner, field, _other(rng, before))
        done.append(f"{type(owner).__name__}.{field}")
    try:
        path.write_bytes(_packed(model))
    except Exception:  # noqa: BLE001 - what the schema cannot hold; bytes then
        done, changed = damage(rng, content)
        path.write_bytes(changed)
    return read_model_file(rng, case, path, f"{path.name}: {', '.join(done) if isinstance(done, list) else done}")


def _packed(model: Any) -> bytes:
    import flatbuffers

    builder = flatbuffers.Builder(1 << 16)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _fields(table: Any, depth: int = 0) -> Iterator[tuple[Any, str]]:
    """All fields of a table and the tables in it, of buffers only a few."""
    for name, value in vars(table).items():
        yield table, name
        for inner in value if isinstance(value, list) else [value]:
            if hasattr(inner, "Pack") and depth < 8:
                yield from _fields(inner, depth + 1)


def _other(rng: random.Random, value: Any) -> Any:
    """Another value that the schema can hold at this place."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | np.integer):
        return rng.choice(
            (0, 1, -1, 2, 3, int(value) + 1, int(value) - 1, 100, 127, 255, 2**31 - 1, -(2**31), 2**32 - 1)
        )
    if isinstance(value, float | np.floating):
        return float(rng.choice((0.0, -1.0, 1e-45, 1e38, float("nan"), float("inf"))))
    if isinstance(value, str | bytes):
        return text(rng).encode("utf-8", "replace")
    if isinstance(value, np.ndarray | list) and len(value):
        kept = list(value)
        place = rng.randrange(len(kept))
        choice = rng.random()
        if hasattr(kept[0], "Pack"):
            if choice < 0.3:
                return kept[:place] + kept[place + 1 :]
            if choice < 0.5:
                return [*kept, kept[place]]
            return None if choice < 0.6 else rng.sample(kept, len(kept))
        if choice < 0.6:
            kept[place] = _other(rng, kept[place])
        elif choice < 0.8:
            kept = kept[:place]
        else:
            kept = kept * rng.choice((2, 10))
        return kept if isinstance(value, list) else np.array(kept, value.dtype)
    return rng.choice((None, 0, 1)) if value is None else None


def onnx_fields(rng: random.Random, folder: Path) -> Outcome:
    """One to three fields of messages of an .onnx file."""
    import onnx

    case = Case.of(".onnx: fields", folder)
    path = _folder(case, rng.choice(ONNX))
    model = onnx.ModelProto.FromString(path.read_bytes())
    done = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        message, field = rng.choice(list(_message_fields(model)))
        done.append(f"{message.DESCRIPTOR.name}.{field.name}")
        _change(rng, message, field)
    path.write_bytes(model.SerializeToString())
    return read_model_file(rng, case, path, f"{path.name}: {', '.join(done)}")


def _message_fields(message: Any) -> Iterator[tuple[Any, Any]]:
    for field, value in message.ListFields():
        yield message, field
        if field.type == field.TYPE_MESSAGE:
            for inner in value if not hasattr(value, "DESCRIPTOR") else [value]:
                yield from _message_fields(inner)


def _change(rng: random.Random, message: Any, field: Any) -> None:
    value, name = getattr(message, field.name), field.name
    repeated = not isinstance(value, int | float | str | bytes) and not hasattr(value, "DESCRIPTOR")
    if repeated:
        place = rng.randrange(len(value))
        choice = rng.random()
        if choice < 0.3:
            del value[place]
        elif choice < 0.5:
            value.append(value[place])
        elif field.type != field.TYPE_MESSAGE:
            value[place] = _scalar(rng, field, value[place])
        else:
            value[place].Clear()
        return
    if field.type == field.TYPE_MESSAGE or rng.random() < 0.15:
        message.ClearField(name)
    else:
        setattr(message, name, _scalar(rng, field, value))


def _scalar(rng: random.Random, field: Any, value: Any) -> Any:
    if field.type == field.TYPE_STRING:
        return rng.choice((text(rng).encode("utf-8", "replace").decode(), "", str(value) + "x", "../../x", "/dev/zero"))
    if field.type == field.TYPE_BYTES:
        return rng.choice((b"", value[:-1], value * 2, rng.randbytes(len(value))))
    if field.type in (field.TYPE_FLOAT, field.TYPE_DOUBLE):
        return rng.choice((0.0, -1.0, float("nan"), float("inf"), 1e38))
    if field.type == field.TYPE_ENUM:
        return rng.choice((0, 1, 3, 7))
    low, high = (-(2**31), 2**31 - 1) if field.type == field.TYPE_INT32 else (-(2**63), 2**63 - 1)
    found = number(rng)
    usable = isinstance(found, int) and low <= found <= high
    return found if usable else rng.choice((0, 1, -1, 2, value + 1, 99, low, high))


def external(rng: random.Random, folder: Path) -> Outcome:
    """An .onnx file whose weights lie in another file: outside of the folder, a device, too far, too long."""
    import onnx

    case = Case.of(".onnx: external data", folder)
    path = _folder(case, rng.choice(ONNX))
    model = onnx.ModelProto.FromString(path.read_bytes())
    tensor = rng.choice(list(model.graph.initializer))
    place = rng.choice(
        ("../../aside/secret.txt", "/etc/passwd", "/dev/zero", "weights.bin", "", "model.json", text(rng))
    )
    entries = {"location": place, "offset": str(number(rng)), "length": str(number(rng))}
    tensor.data_location = onnx.TensorProto.EXTERNAL
    if rng.random() < 0.5:
        tensor.ClearField("raw_data")
    del tensor.external_data[:]
    for key in rng.sample(list(entries), rng.randint(0, 3)):
        tensor.external_data.add(key=key, value=entries[key].encode("utf-8", "replace").decode())
    (path.parent / "weights.bin").write_bytes(bytes(16))
    path.write_bytes(model.SerializeToString())
    return read_model_file(rng, case, path, f"{path.name}: {tensor.name} in {place[:40]!r}")


def file_bytes(names: tuple[str, ...], kind: str, rng: random.Random, folder: Path) -> Outcome:
    """Bytes of a file, without regard to what they mean."""
    case = Case.of(kind, folder)
    path = _folder(case, rng.choice(names))
    what, changed = damage(rng, path.read_bytes())
    path.write_bytes(changed)
    return read_model_file(rng, case, path, f"{path.name}: {what}")


_TFLITE_BYTES: Callable[..., Outcome] = functools.partial(file_bytes, TFLITE, ".tflite: bytes")
_ONNX_BYTES: Callable[..., Outcome] = functools.partial(file_bytes, ONNX, ".onnx: bytes")
KINDS: dict[str, Kind] = {
    "tflite fields": tflite_fields,
    "tflite bytes": _TFLITE_BYTES,
    "onnx fields": onnx_fields,
    "onnx bytes": _ONNX_BYTES,
    "onnx external": external,
}
SHARES = {"tflite fields": 4, "tflite bytes": 2, "onnx fields": 4, "onnx bytes": 2, "onnx external": 1}
