"""What making the channels' ranges alike does to static int8: error and agreement with and without, full and safe fold.

python benchmarks/equalize.py CHECKPOINT EVAL_DATA CALIBRATION_DATA WORK_FOLDER --max-seq-len 64 --result FILE
"""

import argparse
import importlib
import json
from pathlib import Path
from typing import Any
from unittest import mock

from exporters import ExportRequest, export

# The module, not the function of the same name.
REWRITES = importlib.import_module("models_tf.encoder.rewrites.apply")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("checkpoint", "eval_data", "calibration_data", "work"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--max-seq-len", type=int, default=128)
    parser.add_argument("--result", type=Path, required=True)
    options = parser.parse_args()
    results = [measure(options, fold, equalize) for fold in ("full", "safe") for equalize in (True, False)]
    document = {"command": f"python benchmarks/equalize.py ... --max-seq-len {options.max_seq_len}", "results": results}
    options.result.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def measure(options: argparse.Namespace, fold: str, equalize: bool) -> dict[str, Any]:
    request = ExportRequest(
        model="mobilebert",
        checkpoint=options.checkpoint,
        eval_data=options.eval_data,
        calibration_data=options.calibration_data,
        max_seq_len=options.max_seq_len,
        fold=fold,
        output=options.work / f"{fold}-{equalize}",
        force=True,
    )
    apply = REWRITES.apply

    def without(network: Any, **settings: Any) -> Any:
        return apply(network, **{**settings, "rows": None})

    with mock.patch.object(REWRITES, "apply", apply if equalize else without):
        report = export(request)
    files = {
        row.candidate: {"max_abs": row.max_abs, "mean_abs": row.mean_abs, "argmax_agreement": row.argmax_agreement}
        for row in report.parity
        if row.reference == "Keras" and "int8" in row.candidate
    }
    return {"fold": fold, "equalize": equalize, "rows": report.data["eval_rows"], "files": files}


if __name__ == "__main__":
    main()
