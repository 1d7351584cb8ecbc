"""Reads report.json of an export, versions 1 and 2, as candidates. What is damaged is an `InputError` in one line."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from exporters.comparison.candidate import Accuracy, Candidate, Source, interval
from models_tf.checkpoints.json_text import read_json_file
from models_tf.data import DEFAULT_THRESHOLD
from models_tf.errors import InputError
from models_tf.folders.real_path import real_path
from models_tf.tasks import several_labels
from models_tf.tasks.score import metric_title

REPORT = "report.json"
VERSIONS = (1, 2)


def read_reports(paths: Sequence[Path]) -> list[Candidate]:
    """The model files of all reports, in their order; a report that is given twice counts once."""
    places = list({real_path(_place(path)): _place(path) for path in paths}.values())
    names = _names(places)
    return [one for place in places for one in _candidates(place, names[place])]


def _place(path: Path) -> Path:
    return path / REPORT if path.is_dir() else path


def _names(places: Sequence[Path]) -> dict[Path, str]:
    """The folder of each report, with as much of its path as tells it from the others."""
    parts = {place: real_path(place).parts[1:-1] or (place.name,) for place in places}
    # The file itself belongs to the name where a folder holds several.
    folders = list(parts.values())
    parts = {place: (*found, place.name) if folders.count(found) > 1 else found for place, found in parts.items()}
    for count in range(1, max(map(len, parts.values()), default=0) + 1):
        names = {place: "/".join(found[-count:]) for place, found in parts.items()}
        if len(set(names.values())) == len(names):
            return names
    return {place: str(place) for place in places}


def _candidates(path: Path, name: str) -> Iterator[Candidate]:
    report = _document(path)
    try:
        yield from _parsed(report, path, name)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"{path} must be a whole report of an export. Received: a damaged one ({_short(error)})."
        ) from error


def _short(error: Exception) -> str:
    what = " ".join(str(error).split())[:100]
    return f"no {what}" if isinstance(error, KeyError) else what


def _document(path: Path) -> Mapping[str, Any]:
    try:
        document = read_json_file(path, f"{path} must be a report of an export.")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"compare needs export folders or their {REPORT}. Received: {path} ({reason}).") from error
    if not isinstance(document, dict) or "report_version" not in document:
        raise InputError(f"{path} must be a report of an export. Received: another kind of JSON.")
    if document["report_version"] not in VERSIONS:
        raise InputError(
            f"{path} must be a report of version {' or '.join(map(str, VERSIONS))}. "
            f"Received: {str(document['report_version'])[:40]}. Use the release of export-mobile that wrote it."
        )
    return document


def _parsed(report: Mapping[str, Any], path: Path, name: str) -> list[Candidate]:
    model, data = report["model"], report["data"]
    source = Source(
        name=name,
        path=str(path),
        model=_text(model["name"]),
        quantize=_text(report["quantize"]),
        seq_len=_count(model["max_seq_len"]),
        data=_data_identity(report, _text(data["eval_source"]), data["eval_rows"]),
        data_source=_text(data["eval_source"]),
        cpu=_text(report["latency_cpu"]),
        passed=report["passed"] is True,
        trained=model.get("trained", True) is True,
    )
    scores = {_text(stage["stage"]): _accuracy(stage["score"]) for stage in report["accuracy"]}
    times = {
        _text(row["file"]): _number(row["median_ms"]) for row in report["latency"] if row["seq_len"] == source.seq_len
    }
    return [
        Candidate(
            source=source,
            file=_text(file["name"]),
            target=_text(file["target"]),
            size_bytes=_count(file["size_bytes"]),
            accuracy=next((score for stage, score in scores.items() if stage.startswith(f"{file['name']} on ")), None),
            latency_ms=times.get(file["name"]),
        )
        for file in report["files"]
        if file.get("target") is not None
    ]


def _data_identity(report: Mapping[str, Any], path: str, rows: Any) -> str:
    """What tells the evaluation data of two reports apart: a sum where the report has one, and how many rows."""
    sums = [_text(entry["sha256"]) for entry in report.get("inputs") or () if entry.get("role") == "eval_data"]
    return f"{' '.join(sorted(sums)) or path} ({rows} rows)"


def _accuracy(score: Mapping[str, Any]) -> Accuracy:
    metric, value, n = _text(score["metric"]), _number(score["value"]), _count(score["n"])
    threshold = score.get("label_threshold", DEFAULT_THRESHOLD if metric == several_labels.METRIC else None)
    if threshold is not None:  # at another threshold it is another metric
        metric = metric_title(metric, _number(threshold))
    given = score.get("interval")
    low, high = map(_number, given) if given else interval(metric, value, n, _number(score["standard_error"]))
    return Accuracy(metric=metric, value=value, n=n, low=low, high=high)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} in place of a text")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError(f"{value!r} in place of a number")
    return float(value)


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError(f"{value!r} in place of a whole number")
    return value
