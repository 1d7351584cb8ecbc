"""The public names of the package, and that asking for them is all that loads them."""

import dataclasses
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import exporters
from exporters import ExportRequest, Report, export
from exporters.errors import ParityError
from models_tf.errors import InputError

ROOT = Path(__file__).parents[2]


def test_the_package_offers_exactly_these_names():
    assert sorted(exporters.__all__) == [
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
    ]
    assert dir(exporters) == sorted(exporters.__all__)


def test_the_errors_that_callers_catch_are_the_ones_that_are_raised():
    assert exporters.InputError is InputError
    assert issubclass(ParityError, exporters.ExportError)


def test_an_unknown_name_is_an_attribute_error_that_lists_the_names():
    with pytest.raises(AttributeError, match="ExportRequest"):
        exporters.nonsense  # noqa: B018


def test_export_takes_a_request_and_returns_a_report():
    signature = inspect.signature(export)
    assert next(iter(signature.parameters)) == "request"
    assert signature.return_annotation is Report


def test_request_and_report_are_frozen_and_keyword_only():
    for kind in (ExportRequest, Report):
        assert dataclasses.is_dataclass(kind)
        assert all(field.kw_only for field in dataclasses.fields(kind))
        assert kind.__dataclass_params__.frozen


def test_importing_the_package_loads_nothing_heavy():
    code = (
        "import sys, exporters; from exporters import ExportRequest; ExportRequest(); "
        "print([m for m in ('tensorflow', 'numpy', 'onnx') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "name",
    [
        "export",
        "train",
        "compress",
        "ablate",
        "ledger",
        "profile",
        "explain",
        "inspect",
        "bench",
        "verify",
        "compare",
        "demo",
        "setup",
        "write_site",
    ],
)
def test_anything_but_the_request_of_a_function_is_refused_in_one_line(name):
    with pytest.raises(InputError, match=r"`request` must be of type \w+Request\. Received: {'model': 'prado'}"):
        getattr(exporters, name)({"model": "prado"})
