"""What an export removed from the model before it converted it, on one line."""

from collections.abc import Mapping
from typing import Any


def compression_line(record: Mapping[str, Any]) -> str:
    """What the export itself removed and added; the full record is in report.json."""
    before, after = record["parameters"]["before"], record["parameters"]["after"]
    layers, ghosts = record["layers"], record["ghosts"]
    parts = [
        f"{len(layers['kept'])} of {len(layers['kept']) + len(layers['dropped'])} layers",
        f"heads {' '.join(str(len(heads)) for heads in record['heads']['kept'])}",
        f"FFN {' '.join(map(str, record['neurons']['kept_counts']))}",
    ]
    if ghosts["heads"] or ghosts["folds"]:
        parts.append(f"ghosts {' '.join(map(str, ghosts['heads']))} and {' '.join(map(str, ghosts['folds']))}")
    if "shared_layers" in record:
        parts.append(f"layers share weights {' '.join(map(str, record['shared_layers']))}")
    for name, title in (("embedding", "word embedding"), ("vocabulary", "vocabulary")):
        if name in record:
            parts.append(f"{title} {record[name]['before']} -> {record[name]['after']}")
    if "retention" in record:
        parts.append(f"tokens by {record['retention']['by']} {' '.join(map(str, record['retention']['kept']))}")
    return f"{', '.join(parts)}; parameters {before:,} -> {after:,}, not trained since"
