"""Which files a runtime is meant for, as one table; what it refuses in spite of that is a fault.

A rule names a runtime, tells by the file whether it applies, and says why the file is not for that runtime. Leaves out
what a runtime that takes a file then computes.
"""

from collections.abc import Callable
from dataclasses import dataclass

from exporters.formats.model_file import ModelFile
from exporters.formats.tensor_names import SIGNATURE
from exporters.formats.texts import holds_projection, takes_bytes
from exporters.formats.tflite.versions import LITERT as NEEDS_LITERT

LITERT, TFLITE_RUNTIME, ONNXRUNTIME = "litert", "tflite-runtime", "onnxruntime"
ORT_WEB, LITERT_JS, OPENVINO = "ort-web", "litert-js", "openvino"
TITLES = {
    LITERT: "LiteRT",
    TFLITE_RUNTIME: "tflite-runtime",
    ONNXRUNTIME: "ONNX Runtime",
    ORT_WEB: "ONNX Runtime Web",
    LITERT_JS: "LiteRT.js",
    OPENVINO: "OpenVINO",
}
# The formats that a runtime reads at all; a file of another is no row of its table.
FORMATS = {
    LITERT: ("tflite",),
    TFLITE_RUNTIME: ("tflite",),
    ONNXRUNTIME: ("onnx",),
    ORT_WEB: ("onnx",),
    LITERT_JS: ("tflite",),
    OPENVINO: ("tflite", "onnx"),
}
# The last tflite-runtime, and what the report says of files that need more.
_LAST_TFLITE = (2, 14)
_TFLITE = "TensorFlow Lite "


@dataclass(frozen=True, kw_only=True)
class Rule:
    runtimes: tuple[str, ...]
    applies: Callable[[ModelFile], bool]
    reason: str


def _needs_newer(file: ModelFile) -> bool:
    """Also where the report does not know: nobody promised that it runs."""
    wanted = file.min_runtime.removeprefix(_TFLITE)
    if file.min_runtime == NEEDS_LITERT or not wanted or not file.min_runtime.startswith(_TFLITE):
        return True
    return tuple(map(int, wanted.split("."))) > _LAST_TFLITE


def _has_op(file: ModelFile) -> bool:
    return holds_projection(file.content)


def _signature(file: ModelFile) -> tuple[list[str], list[str]]:
    found = file.signatures.get(SIGNATURE) or next(iter(file.signatures.values()))
    return [info.dtype for info in found.inputs], [info.dtype for info in found.outputs]


def _int8_border(file: ModelFile) -> bool:
    taken = {"float32", "int32", "uint8"}
    inputs, outputs = _signature(file)
    return not taken.issuperset((*inputs, *outputs))


def _takes_bytes(file: ModelFile) -> bool:
    found = file.signatures.get(SIGNATURE) or next(iter(file.signatures.values()))
    return any(takes_bytes(info) for info in found.inputs)


def _drops_tokens(file: ModelFile) -> bool:
    """PoWER-BERT sorts the places of tokens by their significance."""
    return "TOPK_V2" in file.ops or "TopK" in file.ops


RULES = (
    Rule(
        runtimes=(TFLITE_RUNTIME,),
        applies=_needs_newer,
        reason="needs a newer runtime than 2.14, as the report says (int4: LiteRT 1.0)",
    ),
    Rule(
        runtimes=(ORT_WEB, LITERT_JS, OPENVINO),
        applies=_has_op,
        reason="has the projection op, which is compiled for phones and desktops alone; take the bytes-in file",
    ),
    Rule(
        runtimes=(LITERT_JS,),
        applies=_int8_border,
        reason="LiteRT.js takes float32, int32 and uint8 inputs and outputs; export with --io float32 or int32",
    ),
    Rule(
        runtimes=(OPENVINO,),
        applies=_takes_bytes,
        reason="reads bytes with 64-bit integers, which OpenVINO computes in 32 bits; take the features-in file",
    ),
    Rule(
        runtimes=(OPENVINO,),
        applies=_drops_tokens,
        reason="drops tokens; OpenVINO 2026.4 crashes while it fuses a sum of some such graphs",
    ),
)


def reads(runtime: str, file: ModelFile) -> bool:
    return file.format in FORMATS[runtime]


def not_for(runtime: str, file: ModelFile) -> str:
    """Why a file is not meant for a runtime; "" if it is."""
    return next((rule.reason for rule in RULES if runtime in rule.runtimes and rule.applies(file)), "")
