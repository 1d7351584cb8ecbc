"""A profile as text: the table that the command prints, and report.md."""

from exporters.profiling.chart import CHART, percent, text
from exporters.profiling.report import FileProfile, Profile
from exporters.report import tables
from exporters.report.figures import UNTRAINED
from exporters.report.tables import Table

WHAT_COUNTS = """\
- parameters: of the checkpoint. Multiply-adds: one row of the exported graph, after its rewrites.
- A norm, a bias, an activation or a residual sum counts to the dense layer that it follows, the split into heads to the
  linear layers before attention, MobileBERT's input bottlenecks to the same, its output bottleneck to the FFN, the mask
  to the embedding.
- bytes: constants that one part alone reads. graph is the rest of the file: structure, and what several parts read.
- time: the share of all parts; in brackets the lowest and the highest of five blocks of rounds. One thread of the
  machine that profiled: it does not predict a phone.
- LiteRT: each part as a file of its own, median of processor time. ONNX Runtime: its own profiler, the shortest time of
  each kernel.
"""


def blocks(profile: Profile) -> list[str | Table]:
    """What the command prints."""
    untrained = "" if profile.model["trained"] else f" ({UNTRAINED})"
    head = (
        f"{profile.model['name']}{untrained}, {profile.model['max_seq_len']} tokens, {profile.quantize}, "
        f"{profile.rounds} rounds, one thread of {profile.cpu}"
    )
    table = Table(header=_header(profile), rows=[*_rows(profile), _total(profile)], total=True)
    bars = text(profile).splitlines()
    return [head, "", table, "", *bars, "", *(_whole(file, profile.rounds) for file in profile.files)]


def markdown(profile: Profile) -> str:
    """report.md."""
    model = profile.model
    facts = [
        ("command", f"`{profile.command}`"),
        ("weights", "trained" if model["trained"] else f"**{UNTRAINED}**"),
        ("layers, tokens", f"{model['layers']}, {model['max_seq_len']}"),
        ("rewrites", f"{model['fold']}: {', '.join(model['rewrites']) or 'none'}"),
        ("rounds", f"{profile.rounds}, interleaved"),
        ("CPU", profile.cpu),
    ]
    parts = [
        f"# Profile of {model['name']} {model.get('task') or ''} {profile.quantize}".replace("  ", " "),
        tables.markdown(("", ""), facts),
        "## Parts",
        tables.markdown(_header(profile), [*_rows(profile), _total(profile)]),
        WHAT_COUNTS + "\n".join(f"- {_whole(file, profile.rounds)}" for file in profile.files),
        "## Shares",
        f"![shares of each part]({CHART})",
        f"```\n{text(profile)}\n```",
        "## Versions",
        tables.markdown(("package", "version"), list(profile.versions.items())),
    ]
    return "\n\n".join(parts) + "\n"


def _header(profile: Profile) -> list[str]:
    names = ["part", "parameters", "multiply-adds"]
    for file in profile.files:
        names += [f"{file.target} bytes", f"{file.runtime} ms", "time"]
    return names


def _rows(profile: Profile) -> list[list[str]]:
    found = []
    for part in profile.parts:
        cells = [part.part, f"{part.parameters:,}", f"{part.multiply_adds:,}"]
        for file in profile.files:
            cells += [f"{file.part_bytes[part.part]:,}", *_time(file, part.part)]
        found.append(cells)
    graph = ["graph", "", ""]
    for file in profile.files:
        graph += [f"{file.graph_bytes:,}", "", ""]
    return [*found, graph]


def _total(profile: Profile) -> list[str]:
    cells = ["all", f"{profile.parameters:,}", f"{profile.multiply_adds:,}"]
    for file in profile.files:
        total = "" if file.timing is None else f"{file.timing.parts_ms:.3f}"
        cells += [f"{file.size_bytes:,}", total, "" if file.timing is None else "100 %"]
    return cells


def _time(file: FileProfile, part: str) -> tuple[str, str]:
    found = file.time_of(part)
    if found is None:
        return "", ""
    low, high = 100 * found.share_low, 100 * found.share_high
    return f"{found.ms:.3f}", f"{percent(found.share)} ({low:.1f}-{high:.1f})"


def _whole(file: FileProfile, rounds: int) -> str:
    if file.timing is None:
        return f"{file.name} was not timed: {file.note}."
    whole, parts = file.timing.whole_ms, file.timing.parts_ms
    ratio = f", {parts / whole:.2f} of it" if whole else ""
    return (
        f"{file.name} on {file.runtime}: {whole:.3f} ms as a whole, its parts add up to {parts:.3f} ms{ratio} "
        f"({rounds} rounds)."
    )
