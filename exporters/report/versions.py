"""Versions of all that can change a result, for the report."""

import platform
from importlib import metadata
from pathlib import Path

DISTRIBUTIONS = (
    "export-mobile",
    "numpy",
    "tensorflow",
    "tf-keras",
    "ai-edge-litert",
    "ai-edge-quantizer",
    "onnx",
    "onnxruntime",
    "tf2onnx",
    "tflite-runtime",
)


def versions() -> dict[str, str]:
    """Python, the platform, and each distribution that is installed."""
    found = {"python": platform.python_version(), "platform": f"{platform.system()} {platform.machine()}"}
    for name in DISTRIBUTIONS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def cpu_name() -> str:
    """What the processor calls itself."""
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
