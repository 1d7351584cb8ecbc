"""What ONNX Runtime makes of an .onnx file: the operators of its optimized graph, beside those of the file.

The runtime saves the graph that it would run, optimized as for any user. Loads the file in this process, which may
crash: `exporters/anatomy/partitions.py` has one for it.
"""

import tempfile
from collections import Counter
from pathlib import Path

import onnx

from exporters.anatomy.runtime_plan import RuntimePlan
from exporters.formats.onnx.file import open_onnx
from exporters.formats.onnx.walk import full_name, nodes_of
from models_tf.ops.projection import ort_loader
from quantize.onnx.session import make_session

RUNTIME = "ONNX Runtime"
_FILE = "optimized.onnx"


def runtime_plan(content: bytes) -> RuntimePlan:
    import onnxruntime

    model = open_onnx(content).model
    before, domains = counts(model), {entry.domain for entry in model.opset_import}
    del model  # the runtime makes copies of its own
    options = ort_loader.session_options_with_projection() if ort_loader.DOMAIN in domains else None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / _FILE
        make_session(content, options=options, optimized_model_filepath=str(path))
        after = counts(onnx.load(path))
    return RuntimePlan(
        runtime=RUNTIME,
        version=onnxruntime.__version__,
        kept=dict(after.most_common()),
        fused=dict((after - before).most_common()),
        replaced=dict((before - after).most_common()),
    )


def counts(model: onnx.ModelProto) -> Counter[str]:
    """Operators of the graph and of the graphs inside of it."""
    return Counter(full_name(node) for node in nodes_of(model.graph))
