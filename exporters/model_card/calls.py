"""How to call the files, in a few lines of Python and Kotlin. Formats that are not in the tables get none."""

from collections.abc import Iterator, Mapping

from exporters.formats.model_file import Signature, TensorInfo
from exporters.formats.tensor_names import FEATURES, TEXT

_PYTHON = {
    ("tflite", TEXT): """\
import numpy as np
from models_tf.ops.projection.tflite_loader import interpreter  # pip install export-mobile: brings the custom op

model = interpreter(open("{file}", "rb").read())
run = model.get_signature_runner("serving_default")
{output} = run(text=np.array([b"some text"], object))["{output}"][0]
""",
    ("onnx", TEXT): """\
import numpy as np
import onnxruntime
from models_tf.ops.projection.ort_loader import session_options_with_projection  # pip install export-mobile

session = onnxruntime.InferenceSession("{file}", session_options_with_projection())
({output},) = session.run(["{output}"], {{"text": np.array(["some text"], object)}})
""",
    ("tflite", None): """\
import numpy as np
from ai_edge_litert.interpreter import Interpreter
from tokenizers import Tokenizer

tokenizer = Tokenizer.from_file("tokenizer.json")
tokenizer.enable_truncation({length}){padding}
row = tokenizer.encode({text})
values = {{"ids": row.ids, "mask": row.attention_mask, "segments": row.type_ids}}
run = Interpreter("{file}").get_signature_runner("serving_default")
{output} = run(**{{name: np.array([values[name]], np.int32) for name in run.get_input_details()}})["{output}"][0]
""",
    ("onnx", None): """\
import numpy as np
import onnxruntime
from tokenizers import Tokenizer

tokenizer = Tokenizer.from_file("tokenizer.json")
tokenizer.enable_truncation({length}){padding}
row = tokenizer.encode({text})
values = {{"ids": row.ids, "mask": row.attention_mask, "segments": row.type_ids}}
session = onnxruntime.InferenceSession("{file}")
({output}, *_) = session.run(None, {{one.name: np.array([values[one.name]], np.int32) for one in session.get_inputs()}})
""",
}
_KOTLIN = """\
// {library}
val interpreter = Interpreter(model)  // a MappedByteBuffer of {file} in the assets
{inputs}
val {output} = {answer}
interpreter.runSignature(mapOf({given}), mapOf("{output}" to {output}), "serving_default")
"""
_LIBRARY = "com.google.ai.edge.litert:litert; org.tensorflow.lite.Interpreter"
_ARRAYS = {"int8": "ByteArray", "int32": "IntArray", "float32": "FloatArray"}


def python(files: Mapping[str, Signature], *, max_seq_len: int, text: str) -> str | None:
    """For the file that takes text, or else the first; `text` is the argument of the tokenizer."""
    for file, signature in _text_first(files):
        names = {info.name for info in signature.inputs}
        graph = TEXT if TEXT in names else FEATURES if FEATURES in names else None
        found = _PYTHON.get((_ending(file), graph))
        if found is not None:
            padding = "" if _is_open(signature) else f"\ntokenizer.enable_padding(length={max_seq_len})"
            return found.format(
                file=file, output=signature.outputs[0].name, length=max_seq_len, text=text, padding=padding
            )
    return None


def kotlin(files: Mapping[str, Signature], *, max_seq_len: int) -> str | None:
    """For the first .tflite file that the stock runtime runs, which is not the one that takes text."""
    for file, signature in files.items():
        if _ending(file) != "tflite" or any(info.name == TEXT for info in signature.inputs):
            continue
        answer = signature.outputs[0]
        return _KOTLIN.format(
            library=_LIBRARY,
            file=file,
            inputs="\n".join(f"val {info.name} = {_input(info, max_seq_len)}" for info in signature.inputs),
            given=", ".join(f'"{info.name}" to {info.name}' for info in signature.inputs),
            output=answer.name,
            answer=_output(answer, max_seq_len),
        )
    return None


def _text_first(files: Mapping[str, Signature]) -> Iterator[tuple[str, Signature]]:
    return iter(sorted(files.items(), key=lambda item: all(info.name != TEXT for info in item[1].inputs)))


def _ending(file: str) -> str:
    return file.rpartition(".")[2]


def _is_open(signature: Signature) -> bool:
    """Whether a row may have any length."""
    return any(not isinstance(size, int) or size < 0 for info in signature.inputs for size in info.shape[1:])


def _input(info: TensorInfo, longest: int) -> str:
    size = " * ".join(str(longest if size == -1 else size) for size in info.shape[1:])
    if info.name == FEATURES:
        return f"ByteBuffer.allocateDirect({size})  // filled by `Projection` of examples/android/TextClassifier.kt"
    padding = "or as many as the text has" if -1 in info.shape else "padded with 0"
    return f"Array(1) {{ IntArray({size}) }}  // from the tokenizer, {padding}"


def _output(info: TensorInfo, longest: int) -> str:
    made, sizes = _ARRAYS.get(info.dtype, "FloatArray"), [longest if size == -1 else size for size in info.shape[1:]]
    array = f"{made}({sizes[-1]})" if sizes else f"{made}(1)"
    for size in reversed(sizes[:-1]):
        array = f"Array({size}) {{ {array} }}"
    meaning = "" if info.scale is None else f"  // (q - ({info.zero_point})) * {info.scale:.6g}"
    return f"Array(1) {{ {array} }}{meaning}"
