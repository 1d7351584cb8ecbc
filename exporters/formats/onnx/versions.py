"""The oldest ONNX Runtime that runs a file, as far as its opset tells."""

import onnx

from models_tf.ops.projection.ort_loader import DOMAIN, MINIMUM_VERSION

# Oldest ONNX Runtime that knows an opset, by its release notes.
_RUNTIMES = {13: "1.6", 14: "1.8", 15: "1.10", 16: "1.11", 17: "1.12", 18: "1.14", 19: "1.15", 20: "1.17", 21: "1.18"}


def min_runtime(model: onnx.ModelProto) -> str:
    """Empty when the opset is not in the table."""
    versions = {entry.domain: entry.version for entry in model.opset_import}
    release = _RUNTIMES.get(versions.get("", 0), "")
    needed = [tuple(map(int, release.split(".")))] if release else []
    if DOMAIN in versions:  # the projection op asks for more than the opset does
        needed.append(MINIMUM_VERSION)
    release = ".".join(map(str, max(needed))) if needed else ""
    return f"ONNX Runtime {release}" if release else ""
