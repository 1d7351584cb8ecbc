"""Pass: text in instead of features in, by one operator of our domain in front.

Requires one int8 input `[batch, time, feature]`. In the result the input is a string tensor `[batch]` called "text" and
the first node is `export.mobile::SequenceProjection`, whose output is the former input. All else is untouched.
"""

import onnx

from quantize.onnx.graph import copied

DOMAIN = "export.mobile"
DOMAIN_VERSION = 1
OP_TYPE = "SequenceProjection"
TEXT_INPUT = "text"


def prepend_projection(model: onnx.ModelProto, config_text: str) -> onnx.ModelProto:
    """A new model; the given one stays as it is."""
    if len(model.graph.input) != 1:
        raise ValueError(f"One input was expected. Received: {[value.name for value in model.graph.input]}.")
    features = model.graph.input[0].type.tensor_type
    if features.elem_type != onnx.TensorProto.INT8 or len(features.shape.dim) != 3:
        raise ValueError(f"One int8 input [batch, time, feature] was expected. Received: {features.shape}.")
    result = copied(model)
    graph = result.graph
    batch = features.shape.dim[0].dim_param or features.shape.dim[0].dim_value
    text = onnx.helper.make_tensor_value_info(TEXT_INPUT, onnx.TensorProto.STRING, [batch])
    node = onnx.helper.make_node(
        OP_TYPE, [TEXT_INPUT], [graph.input[0].name], domain=DOMAIN, config=config_text.encode()
    )
    del graph.input[:]
    graph.input.append(text)
    graph.node.insert(0, node)
    result.opset_import.append(onnx.helper.make_opsetid(DOMAIN, DOMAIN_VERSION))
    return result
