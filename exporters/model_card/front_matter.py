"""The YAML on top of a model card, in the fields that the Hugging Face hub reads.

Strings are written as JSON has them, which YAML takes as it is: a name of a user can neither end the block nor add a
field to it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from exporters.console.cleaning import clean_json
from exporters.report.report import Report, StageScore

# Task of the model -> what the hub calls it. Names of bundled models and folders are tasks too, of a classification.
_CLASSIFICATION = "text-classification"
_PIPELINES = {
    "token-classification": "token-classification",
    "question-answering": "question-answering",
    "base": "feature-extraction",
    "embedding": "sentence-similarity",
}
# The hub's names of metrics where they are others than ours; values there are shares and not points.
_METRICS = {"micro_f1": "f1", "entity_f1": "f1", "macro_f1": "f1", "pearson": "pearsonr", "spearman": "spearmanr"}
_DIGITS = 6


def front_matter(report: Report, *, name: str, task: str) -> str:
    """The block with its two lines of dashes."""
    return "\n".join(["---", *_yaml(_fields(report, name, task)), "---"])


def pipeline_tag(task: str) -> str:
    return _PIPELINES.get(task, _CLASSIFICATION)


def shipped_stages(report: Report) -> list[StageScore]:
    """The reference, and each file of the folder once: not what was measured on the way."""
    first, *others = report.accuracy
    names = [file.name for file in report.model_files()]
    found = (next((stage for stage in others if stage.stage.startswith(f"{name} on ")), None) for name in names)
    return [first, *(stage for stage in found if stage is not None)]


def _fields(report: Report, name: str, task: str) -> dict[str, Any]:
    given, pipeline = report.request, pipeline_tag(task)
    fields: dict[str, Any] = {}
    if given.get("license"):
        fields["license"] = given["license"]
    if given.get("language"):
        fields["language"] = list(given["language"])
    fields |= {
        "library_name": report.target[0],
        "pipeline_tag": pipeline,
        "tags": ["export-mobile", *report.target, report.model["name"], report.quantize, "on-device"],
    }
    if report.accuracy:
        fields["model-index"] = [{"name": name, "results": [_result(report, pipeline)]}]
    return fields


def _result(report: Report, pipeline: str) -> dict[str, Any]:
    data = Path(report.data["eval_source"]).name
    return {
        "task": {"type": pipeline},
        "dataset": {"name": data, "type": data},
        "metrics": [
            {
                "type": _METRICS.get(stage.score.metric, stage.score.metric),
                "value": round(stage.score.value / 100, _DIGITS),
                "name": f"{stage.stage}, n = {stage.score.n}",
            }
            for stage in shipped_stages(report)
        ],
    }


def _yaml(value: Any, indent: str = "") -> Iterator[str]:
    """Block style, for mappings and lists of plain values."""
    entries: Sequence[tuple[str, Any]] = (
        [(f"{key}:", item) for key, item in value.items()]
        if isinstance(value, Mapping)
        else [("-", item) for item in value]
    )
    for key, item in entries:
        if not isinstance(item, Mapping | list):
            yield f"{indent}{key} {clean_json(json.dumps(item, ensure_ascii=False))}"
        elif key == "-":  # the first line of the entry goes beside the dash
            first, *rest = _yaml(item, indent + "  ")
            yield f"{indent}- {first.lstrip()}"
            yield from rest
        else:
            yield f"{indent}{key}"
            yield from _yaml(item, indent + "  ")
