"""Runs the projection op once in the TFLite runtime that stdin names.

Exit code 0 when the features equal the host's; any other code, or a crash, when the runtime's layout is not the one
that `tflite_op.cc` knows. Only `tflite_loader.py` starts it, with `python -m`.
"""

import sys

import numpy as np

from models_tf.ops.projection.config import ProjectionConfig
from models_tf.ops.projection.library import HostProjection
from models_tf.ops.projection.tflite_loader import add_to_resolver, import_interpreter
from models_tf.ops.projection.tflite_model import projection_model

TEXTS = (b"a wrong layout crashes here, not in your process", "Zwölf Boxkämpfer".encode(), b"")
# A static and a dynamic output take different ways through the runtime's structs.
CONFIGS = (
    ProjectionConfig(feature_size=64, pad_to=12, add_eos=True),
    ProjectionConfig(feature_size=64, features="mixed", presence_feature=True),
)


def run(runtime: str) -> bool:
    """Whether every config gives what the host computes."""
    for config in CONFIGS:
        expected = HostProjection(config).project(TEXTS)
        runner = import_interpreter(runtime).InterpreterWithCustomOps(
            custom_op_registerers=[add_to_resolver], model_content=projection_model(config)
        )
        text = runner.get_input_details()[0]["index"]
        runner.resize_tensor_input(text, [len(TEXTS)])
        runner.allocate_tensors()
        runner.set_tensor(text, np.array(TEXTS))
        runner.invoke()
        received = [runner.get_tensor(output["index"]) for output in runner.get_output_details()]
        if not all(np.array_equal(ours, theirs) for ours, theirs in zip(expected, received, strict=True)):
            return False
    return True


if __name__ == "__main__":
    if not run(sys.stdin.read().strip()):
        sys.exit("the features differ from the host's")
