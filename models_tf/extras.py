"""Optional parts of the install: what each extra brings, and the one-line message that asks for it.

The base install reads, runs and reports on model files. Making files (TensorFlow and the converters), reading PyTorch
checkpoints and downloading from the Hugging Face hub are extras. Nothing is imported here, only looked up.
"""

import importlib.util
import sys

from models_tf.errors import InputError

EXPORT, TORCH, HUB = "export", "torch", "hub"
# Extra -> the modules it brings, by import name. pyproject.toml lists the distributions; a test compares the two.
MODULES = {
    EXPORT: (
        "tensorflow",
        "tf_keras",
        "tf2onnx",
        "ai_edge_quantizer",
        "safetensors",
        "jinja2",
        "matplotlib",
        "squarify",
    ),
    TORCH: ("torch",),
    HUB: ("huggingface_hub",),
}


def pip_line(extra: str) -> str:
    """Pip takes the extra's packages from the installed distribution's metadata, so no index needs to have it."""
    return f'pip install "export-mobile[{extra}]"'


def missing(extra: str) -> tuple[str, ...]:
    """The modules of `extra` that are not installed."""
    return tuple(name for name in MODULES[extra] if not _is_installed(name))


def require(extra: str, purpose: str, *, otherwise: str = "") -> None:
    """Raises InputError, "`purpose` needs ...", if a module of `extra` is missing. `otherwise` names an alternative."""
    absent = missing(extra)
    if absent:
        raise InputError(_message(extra, purpose, absent, otherwise))


def explain(error: ModuleNotFoundError) -> InputError | None:
    """The same message for a failed import; None if the module does not belong to an extra."""
    name = (error.name or "").partition(".")[0]
    for extra, modules in MODULES.items():
        if name in modules:
            return InputError(_message(extra, "This", (name,)))
    return None


def _is_installed(name: str) -> bool:
    if name in sys.modules:  # None means: do not import it
        return sys.modules[name] is not None
    return importlib.util.find_spec(name) is not None


def _message(extra: str, purpose: str, absent: tuple[str, ...], otherwise: str = "") -> str:
    verb = "is" if len(absent) == 1 else "are"
    remedy = f"{pip_line(extra)}, or {otherwise}" if otherwise else pip_line(extra)
    return f"{purpose} needs {', '.join(absent)}, which {verb} not installed: {remedy}."
