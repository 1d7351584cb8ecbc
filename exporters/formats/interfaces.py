"""Names, types, shapes and scales of a model file's inputs and outputs, as an app developer needs them."""

from typing import Any

from exporters.formats.artifacts import Artifact


def interface(artifact: Artifact) -> dict[str, Any]:
    """Signature -> inputs and outputs for .tflite; inputs and outputs for .onnx, which has no signatures."""
    return _tflite(artifact.content) if artifact.target == "tflite" else _onnx(artifact.content)


def _tflite(content: bytes) -> dict[str, Any]:
    from quantize.tflite.flatbuffer import TYPE_NAMES, read_model, tensor_name

    model = read_model(content)

    def describe(tensor: Any) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "name": tensor_name(tensor),
            "dtype": TYPE_NAMES[tensor.type].lower(),
            "shape": [int(size) for size in tensor.shape],
        }
        quantization = tensor.quantization
        if quantization is not None and quantization.scale is not None and len(quantization.scale):
            entry |= {"scale": float(quantization.scale[0]), "zero_point": int(quantization.zeroPoint[0])}
        return entry

    signatures = {}
    for signature in model.signatureDefs or ():
        tensors = model.subgraphs[signature.subgraphIndex].tensors
        key = signature.signatureKey
        signatures[key if isinstance(key, str) else key.decode()] = {
            "inputs": [describe(tensors[entry.tensorIndex]) for entry in signature.inputs],
            "outputs": [describe(tensors[entry.tensorIndex]) for entry in signature.outputs],
        }
    return signatures


def _onnx(content: bytes) -> dict[str, Any]:
    import onnx

    graph = onnx.load_from_string(content).graph

    def describe(value: Any) -> dict[str, Any]:
        kind = value.type.tensor_type
        return {
            "name": value.name,
            "dtype": onnx.TensorProto.DataType.Name(kind.elem_type).lower(),
            "shape": [dim.dim_param or dim.dim_value for dim in kind.shape.dim],
        }

    return {"inputs": [describe(value) for value in graph.input], "outputs": [describe(v) for v in graph.output]}
