"""Names that two packages must share though neither may import the other."""

from exporters.formats import tensor_names
from models_tf.ops.projection import ort_loader, tflite_model
from quantize.onnx.passes import prepend_projection as prepend_projection_onnx
from quantize.tflite.passes import prepend_projection


def test_the_onnx_pass_writes_the_op_that_the_library_registers() -> None:
    written = (
        prepend_projection_onnx.DOMAIN,
        prepend_projection_onnx.DOMAIN_VERSION,
        prepend_projection_onnx.OP_TYPE,
    )
    assert written == (ort_loader.DOMAIN, ort_loader.DOMAIN_VERSION, ort_loader.OP_NAME)


def test_the_tflite_pass_writes_the_op_that_the_library_registers() -> None:
    assert prepend_projection.CUSTOM_OP == tflite_model.OP_NAME


def test_both_passes_call_the_text_input_as_the_runners_do() -> None:
    assert prepend_projection.TEXT_INPUT == prepend_projection_onnx.TEXT_INPUT == tensor_names.TEXT
