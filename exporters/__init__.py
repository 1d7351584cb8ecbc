"""Export small text models to phones: `export(ExportRequest(model="prado", quantize="int8"))`.

The names are loaded at first use, so that importing the package costs nothing.
"""

TYPE_CHECKING = False  # as in `typing`, whose import would be most of the cost
if TYPE_CHECKING:
    from exporters.errors import ExportError as ExportError
    from exporters.pipeline import export as export
    from exporters.report.report import Report as Report
    from exporters.request import ExportRequest as ExportRequest
    from models_tf.errors import InputError as InputError

__all__ = ["ExportError", "ExportRequest", "InputError", "Report", "export"]

_HOME = {
    "ExportError": "exporters.errors",
    "ExportRequest": "exporters.request",
    "InputError": "models_tf.errors",
    "Report": "exporters.report.report",
    "export": "exporters.pipeline",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'exporters' has no attribute {name!r}; it has: {', '.join(__all__)}")
    import importlib

    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
