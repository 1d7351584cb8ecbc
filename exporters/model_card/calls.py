"""How to call the files, in a few lines of Python and Kotlin. Formats that are not in the tables get none."""

from collections.abc import Mapping

from exporters.formats.model_file import Signature, TensorInfo
from exporters.formats.tensor_names import BYTES, FEATURES, LABEL, PROBABILITIES, TEXT
from exporters.formats.texts import takes_bytes

_PYTHON = {
    ("tflite", BYTES): """\
import numpy as np
from ai_edge_litert.interpreter import Interpreter

run = Interpreter("{file}").get_signature_runner("serving_default")
given = "some text".encode()[:{size}]
text = np.zeros((1, {size}), np.uint8)
text[0, : len(given)] = np.frombuffer(given, np.uint8)
{output} = run(text=text)["{output}"][0]
""",
    ("onnx", BYTES): """\
import numpy as np
import onnxruntime

session = onnxruntime.InferenceSession("{file}")
text = np.frombuffer("some text".encode(), np.uint8)[None]  # of no text: one zero
{output} = session.run(["{output}"], {{"text": text}})[0][0]
""",
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
{output} = session.run(["{output}"], {{"text": np.array(["some text"], object)}})[0][0]
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
given = {{one.name: np.array([values[one.name]], np.int32) for one in session.get_inputs()}}
{output} = session.run(["{output}"], given)[0][0]
""",
}
_LABELS = 'labels = open("labels.txt", encoding="utf-8").read().split("\\n")\n'
_SEVERAL = """\
for label, probability in zip(labels, {probabilities}):
    if probability >= 0.5:
        print(label, probability)
"""
_KOTLIN = """\
// {library}
val interpreter = Interpreter(model)  // a MappedByteBuffer of {file} in the assets
{inputs}
val {output} = {answer}
interpreter.runSignature(mapOf({given}), mapOf("{output}" to {output}), "serving_default")
"""
_LIBRARY = "com.google.ai.edge.litert:litert; org.tensorflow.lite.Interpreter"
_ARRAYS = {"int8": "ByteArray", "int32": "IntArray", "float32": "FloatArray"}


def python(files: Mapping[str, Signature], *, max_seq_len: int, text: str, multi_label: bool = False) -> list[str]:
    """One for each format, for files that take bytes, or else text, or else what the first file takes; `text` is the
    argument of the tokenizer. With `multi_label` they print every label with a probability of at least 0.5.
    """
    graphs = {file: _graph(one) for file, one in files.items()}
    chosen = next((graph for graph in (BYTES, TEXT, *graphs.values()) if graph in graphs.values()), None)
    found = dict[str, str]()
    for file, signature in files.items():
        ending = _ending(file)
        call = _PYTHON.get((ending, chosen))
        if call is None or graphs[file] != chosen or ending in found:
            continue
        output = _answer(signature, chosen, multi_label=multi_label)
        lines = call.format(
            file=file,
            output=output.name,
            length=max_seq_len,
            size=(*signature.inputs[0].shape, 1)[1],
            text=text,
            padding="" if _is_open(signature) else f"\ntokenizer.enable_padding(length={max_seq_len})",
        )
        if multi_label:
            lines += _LABELS + _probable(output)
        elif chosen == BYTES:
            lines += f"{_LABELS}print(labels[{output.name}{'' if output.name == LABEL else '.argmax()'}])\n"
        found[ending] = lines
    return list(found.values())


def _graph(signature: Signature) -> str | None:
    names = {info.name for info in signature.inputs}
    if any(map(takes_bytes, signature.inputs)):
        return BYTES
    return TEXT if TEXT in names else FEATURES if FEATURES in names else None


def _answer(signature: Signature, graph: str | None, *, multi_label: bool) -> TensorInfo:
    """The output to read: logits, or what a file that takes bytes makes of them."""
    wanted = PROBABILITIES if multi_label else LABEL
    return next((info for info in signature.outputs if graph == BYTES and info.name == wanted), signature.outputs[0])


def _probable(output: TensorInfo) -> str:
    """Lines that print the labels with a probability of at least 0.5, each with its own."""
    if output.name == PROBABILITIES:
        return _SEVERAL.format(probabilities=output.name)
    name, back = output.name, ""
    if output.scale is not None:
        back = f"{name} = ({name}.astype(np.float32) - ({output.zero_point})) * {output.scale:.6g}\n"
    return back + _SEVERAL.format(probabilities=f"1 / (1 + np.exp(-{name}))")


def kotlin(files: Mapping[str, Signature], *, max_seq_len: int) -> str | None:
    """For the first .tflite file that the stock runtime runs, which is not the one that takes text as a string."""
    for file, signature in files.items():
        if _ending(file) != "tflite" or _graph(signature) == TEXT:
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


def _ending(file: str) -> str:
    return file.rpartition(".")[2]


def _is_open(signature: Signature) -> bool:
    """Whether a row may have any length."""
    return any(not isinstance(size, int) or size < 0 for info in signature.inputs for size in info.shape[1:])


def _input(info: TensorInfo, longest: int) -> str:
    size = " * ".join(str(longest if size == -1 else size) for size in info.shape[1:])
    if takes_bytes(info):
        return f'ByteBuffer.wrap("some text".toByteArray().copyOf({size}))  // UTF-8, zeros behind it'
    if info.name == FEATURES:
        if info.dtype != "int8":
            numbers = "Float" if info.dtype == "float32" else "Int"
            made = f"ByteBuffer.allocateDirect(4 * {size}).order(ByteOrder.nativeOrder())"
            return f"{made}.as{numbers}Buffer()  // what `Projection` computes, as {info.dtype}"
        return f"ByteBuffer.allocateDirect({size})  // filled by `Projection` of examples/android/exportmobile-jni"
    padding = "or as many as the text has" if -1 in info.shape else "padded with 0"
    return f"Array(1) {{ IntArray({size}) }}  // from the tokenizer, {padding}"


def _output(info: TensorInfo, longest: int) -> str:
    made, sizes = _ARRAYS.get(info.dtype, "FloatArray"), [longest if size == -1 else size for size in info.shape[1:]]
    array = f"{made}({sizes[-1]})" if sizes else f"{made}(1)"
    for size in reversed(sizes[:-1]):
        array = f"Array({size}) {{ {array} }}"
    meaning = "" if info.scale is None else f"  // (q - ({info.zero_point})) * {info.scale:.6g}"
    return f"Array(1) {{ {array} }}{meaning}"
