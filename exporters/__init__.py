"""Small text models for phones, from Python: for each command a typed request and a function.

    from exporters import ExportRequest, export
    report = export(ExportRequest(model="prado", quantize="int8", output="out"))

A function raises `InputError` when its input cannot be used. What an export found wrong with its own files is in the
report (`report.passed`), and an `ExportError` only if it is asked for (`report.raise_for_failures()`).
The names are loaded at first use, so that importing the package costs nothing.
"""

import os

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # as in `quantize`, which says why

TYPE_CHECKING = False  # as in `typing`, whose import would be most of the cost
if TYPE_CHECKING:
    from exporters.ablation.request import AblateRequest as AblateRequest
    from exporters.ablation.run import ablate as ablate
    from exporters.anatomy.request import InspectRequest as InspectRequest
    from exporters.anatomy.result import Anatomy as Anatomy
    from exporters.anatomy.run import inspect as inspect
    from exporters.app_code.request import AndroidRequest as AndroidRequest
    from exporters.app_code.result import AndroidResult as AndroidResult
    from exporters.app_code.run import android as android
    from exporters.arch_check.request import CheckArchRequest as CheckArchRequest
    from exporters.arch_check.result import CheckArchResult as CheckArchResult
    from exporters.arch_check.run import check_arch as check_arch
    from exporters.benchmarking.request import BenchRequest as BenchRequest
    from exporters.benchmarking.result import BenchResult as BenchResult
    from exporters.benchmarking.run import bench as bench
    from exporters.checking.request import CheckRequest as CheckRequest
    from exporters.checking.result import CheckResult as CheckResult
    from exporters.checking.run import check as check
    from exporters.comparison.request import CompareRequest as CompareRequest
    from exporters.comparison.result import Comparison as Comparison
    from exporters.comparison.run import compare as compare
    from exporters.compression.request import CompressRequest as CompressRequest
    from exporters.compression.result import CompressResult as CompressResult
    from exporters.compression.run import compress as compress
    from exporters.demonstration.request import DemoRequest as DemoRequest
    from exporters.demonstration.run import Demo as Demo
    from exporters.demonstration.run import demo as demo
    from exporters.demonstration.run import write_site as write_site
    from exporters.errors import ExportError as ExportError
    from exporters.explanation.request import ExplainRequest as ExplainRequest
    from exporters.explanation.run import Explanation as Explanation
    from exporters.explanation.run import explain as explain
    from exporters.integrity.request import VerifyRequest as VerifyRequest
    from exporters.integrity.result import VerifyResult as VerifyResult
    from exporters.integrity.run import verify as verify
    from exporters.ledgers.request import LedgerRequest as LedgerRequest
    from exporters.ledgers.result import Ledger as Ledger
    from exporters.ledgers.run import ledger as ledger
    from exporters.pipeline import export as export
    from exporters.profiling.report import Profile as Profile
    from exporters.profiling.request import ProfileRequest as ProfileRequest
    from exporters.profiling.run import profile as profile
    from exporters.report.report import Report as Report
    from exporters.request import ExportRequest as ExportRequest
    from exporters.runtimes.setup import SetupRequest as SetupRequest
    from exporters.runtimes.setup import setup as setup
    from exporters.training.request import TrainRequest as TrainRequest
    from exporters.training.result import TrainResult as TrainResult
    from exporters.training.run import train as train
    from models_tf.compress.ablation_result import Ablation as Ablation
    from models_tf.compress.settings import Compression as Compression
    from models_tf.errors import InputError as InputError

_HOME = {
    "AblateRequest": "exporters.ablation.request",
    "Ablation": "models_tf.compress.ablation_result",
    "Anatomy": "exporters.anatomy.result",
    "AndroidRequest": "exporters.app_code.request",
    "AndroidResult": "exporters.app_code.result",
    "CheckArchRequest": "exporters.arch_check.request",
    "CheckArchResult": "exporters.arch_check.result",
    "BenchRequest": "exporters.benchmarking.request",
    "BenchResult": "exporters.benchmarking.result",
    "CheckRequest": "exporters.checking.request",
    "CheckResult": "exporters.checking.result",
    "CompareRequest": "exporters.comparison.request",
    "Comparison": "exporters.comparison.result",
    "CompressRequest": "exporters.compression.request",
    "CompressResult": "exporters.compression.result",
    "Compression": "models_tf.compress.settings",
    "Demo": "exporters.demonstration.run",
    "DemoRequest": "exporters.demonstration.request",
    "ExplainRequest": "exporters.explanation.request",
    "Explanation": "exporters.explanation.run",
    "ExportError": "exporters.errors",
    "ExportRequest": "exporters.request",
    "InputError": "models_tf.errors",
    "InspectRequest": "exporters.anatomy.request",
    "Ledger": "exporters.ledgers.result",
    "LedgerRequest": "exporters.ledgers.request",
    "Profile": "exporters.profiling.report",
    "ProfileRequest": "exporters.profiling.request",
    "Report": "exporters.report.report",
    "SetupRequest": "exporters.runtimes.setup",
    "TrainRequest": "exporters.training.request",
    "TrainResult": "exporters.training.result",
    "VerifyRequest": "exporters.integrity.request",
    "VerifyResult": "exporters.integrity.result",
    "ablate": "exporters.ablation.run",
    "android": "exporters.app_code.run",
    "bench": "exporters.benchmarking.run",
    "check": "exporters.checking.run",
    "check_arch": "exporters.arch_check.run",
    "compare": "exporters.comparison.run",
    "compress": "exporters.compression.run",
    "demo": "exporters.demonstration.run",
    "explain": "exporters.explanation.run",
    "export": "exporters.pipeline",
    "inspect": "exporters.anatomy.run",
    "ledger": "exporters.ledgers.run",
    "profile": "exporters.profiling.run",
    "setup": "exporters.runtimes.setup",
    "train": "exporters.training.run",
    "verify": "exporters.integrity.run",
    "write_site": "exporters.demonstration.run",
}
__all__ = [
    "AblateRequest",
    "Ablation",
    "Anatomy",
    "AndroidRequest",
    "AndroidResult",
    "BenchRequest",
    "BenchResult",
    "CheckArchRequest",
    "CheckArchResult",
    "CheckRequest",
    "CheckResult",
    "CompareRequest",
    "Comparison",
    "CompressRequest",
    "CompressResult",
    "Compression",
    "Demo",
    "DemoRequest",
    "ExplainRequest",
    "Explanation",
    "ExportError",
    "ExportRequest",
    "InputError",
    "InspectRequest",
    "Ledger",
    "LedgerRequest",
    "Profile",
    "ProfileRequest",
    "Report",
    "SetupRequest",
    "TrainRequest",
    "TrainResult",
    "VerifyRequest",
    "VerifyResult",
    "ablate",
    "android",
    "bench",
    "check",
    "check_arch",
    "compare",
    "compress",
    "demo",
    "explain",
    "export",
    "inspect",
    "ledger",
    "profile",
    "setup",
    "train",
    "verify",
    "write_site",
]  # written out: a type checker does not read `_HOME`


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'exporters' has no attribute {name!r}; it has: {', '.join(__all__)}")
    import importlib

    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
