"""Small text models for phones, from Python: for each command a typed request and a function.

    from exporters import ExportRequest, export
    report = export(ExportRequest(model="prado", quantize="int8", output="out"))

A function raises `InputError` when its input cannot be used. What an export found wrong with its own files is in the
report (`report.passed`), and an `ExportError` only if it is asked for (`report.raise_for_failures()`).
The names are loaded at first use, so that importing the package costs nothing.
"""

TYPE_CHECKING = False  # as in `typing`, whose import would be most of the cost
if TYPE_CHECKING:
    from exporters.errors import ExportError as ExportError
    from exporters.explanation.request import ExplainRequest as ExplainRequest
    from exporters.explanation.run import Explanation as Explanation
    from exporters.explanation.run import explain as explain
    from exporters.pipeline import export as export
    from exporters.profiling.report import Profile as Profile
    from exporters.profiling.request import ProfileRequest as ProfileRequest
    from exporters.profiling.run import profile as profile
    from exporters.report.report import Report as Report
    from exporters.request import ExportRequest as ExportRequest
    from models_tf.errors import InputError as InputError

_HOME = {
    "ExplainRequest": "exporters.explanation.request",
    "Explanation": "exporters.explanation.run",
    "ExportError": "exporters.errors",
    "ExportRequest": "exporters.request",
    "InputError": "models_tf.errors",
    "Profile": "exporters.profiling.report",
    "ProfileRequest": "exporters.profiling.request",
    "Report": "exporters.report.report",
    "explain": "exporters.explanation.run",
    "export": "exporters.pipeline",
    "profile": "exporters.profiling.run",
}
__all__ = [
    "ExplainRequest",
    "Explanation",
    "ExportError",
    "ExportRequest",
    "InputError",
    "Profile",
    "ProfileRequest",
    "Report",
    "explain",
    "export",
    "profile",
]  # written out: a type checker does not read `_HOME`


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'exporters' has no attribute {name!r}; it has: {', '.join(__all__)}")
    import importlib

    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
