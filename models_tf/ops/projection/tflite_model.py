"""The smallest TFLite file around the projection op: text in, features and lengths out.

Serves the probe of unknown runtimes and the tests of the op. Written with the flatbuffers package and
slot numbers of TFLite's schema.fbs (version 3), because tflite-runtime ships no schema classes.
"""

import flatbuffers

from models_tf.ops.projection.config import ProjectionConfig

OP_NAME = "ExportMobileSequenceProjection"
CONVERTER_OP_NAME = "ExportMobile>SequenceProjection"  # what TFLiteConverter writes for the TensorFlow op
# TensorType of the schema.
_TYPES = {"float32": 0, "int32": 2, "string": 5, "int8": 9}
_CUSTOM = 32  # BuiltinOperator.CUSTOM


def projection_model(
    config: ProjectionConfig | bytes, dtype: str = "int8", batch: int = 1, lengths: bool = True, op_name: str = OP_NAME
) -> bytes:
    """A .tflite file; `config` may be raw custom options, to see how the op takes damaged ones."""
    options = config.to_text().encode() if isinstance(config, ProjectionConfig) else config
    rows, columns = (config.pad_to, config.feature_size) if isinstance(config, ProjectionConfig) else (0, 0)
    builder = flatbuffers.Builder(1024)

    def table(slots: dict[int, tuple[str, int]]) -> int:
        builder.StartObject(max(slots, default=-1) + 1)
        for slot, (kind, value) in slots.items():
            getattr(builder, f"Prepend{kind}Slot")(slot, value, 0)
        return builder.EndObject()

    def references(parts: dict[int, int]) -> dict[int, tuple[str, int]]:
        return {slot: ("UOffsetTRelative", part) for slot, part in parts.items()}

    def offsets(tables: list[int]) -> int:
        builder.StartVector(4, len(tables), 4)
        for offset in reversed(tables):
            builder.PrependUOffsetTRelative(offset)
        return builder.EndVector()

    def integers(values: list[int]) -> int:
        builder.StartVector(4, len(values), 4)
        for value in reversed(values):
            builder.PrependInt32(value)
        return builder.EndVector()

    def tensor(name: str, kind: str, shape: list[int], signature: list[int]) -> int:
        parts = {0: integers(shape), 3: builder.CreateString(name), 7: integers(signature)}
        return table({1: ("Int8", _TYPES[kind])} | references(parts))

    outputs = [1, 2] if lengths else [1]
    tensors = [
        tensor("text", "string", [batch], [-1]),
        tensor("features", dtype, [batch, max(rows, 1), columns], [-1, rows or -1, columns]),
    ]
    if lengths:
        tensors.append(tensor("lengths", "int32", [batch], [-1]))
    operator = table(references({1: integers([0]), 2: integers(outputs), 5: builder.CreateByteVector(options)}))
    subgraph = table(references({0: offsets(tensors), 1: integers([0]), 2: integers(outputs), 3: offsets([operator])}))
    name = references({1: builder.CreateString(op_name)})
    code = table({0: ("Int8", _CUSTOM), 2: ("Int32", 1), 3: ("Int32", _CUSTOM)} | name)
    parts = references({1: offsets([code]), 2: offsets([subgraph]), 4: offsets([table({})])})
    model = table({0: ("Uint32", 3)} | parts)
    builder.Finish(model, file_identifier=b"TFL3")
    return bytes(builder.Output())
