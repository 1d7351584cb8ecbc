"""Export small text models to phones: `export(ExportRequest(model="prado", quantize="int8"))`.

The names are loaded at first use, so that importing the package costs nothing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from exporters.pipeline import export as export
    from exporters.report import Report as Report
    from exporters.request import ExportRequest as ExportRequest

__all__ = ["ExportRequest", "Report", "export"]

_HOME = {
    "ExportRequest": "exporters.request",
    "Report": "exporters.report",
    "export": "exporters.pipeline",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'exporters' has no attribute {name!r}; it has: {', '.join(__all__)}")
    import importlib

    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
