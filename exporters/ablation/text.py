"""An ablation as text: a table of layers and heads, one of layers; changes in points from the whole model."""

from collections.abc import Sequence

from exporters.report.tables import Table, plain
from models_tf.compress.ablation_result import Ablation, Change
from models_tf.tasks.score import metric_title, metric_unit

# Of a normal distribution: a change this many standard errors away from none has p < 0.01, as the paper marks it.
SIGNIFICANT = 2.576


def to_text(found: Ablation) -> str:
    """What the command prints, as plain text."""
    return plain(blocks(found))


def blocks(found: Ablation) -> list[str | Table]:
    """What the command prints."""
    whole = found.whole
    score = f"{whole.value:.2f}{metric_unit(whole.metric)} (n = {whole.n}, standard error {whole.standard_error:.2f})"
    made: list[str | Table] = [f"{metric_title(whole.metric)} of the whole model: {score}"]
    for title, table in (
        ("change in points without one head", found.heads),
        ("change in points with one head alone in its layer", found.alone),
    ):
        if table:
            made += ["", f"{title} (rows are layers, columns are heads):", _table(table)]
            made += _spread([change for row in table for change in row])
    if found.layers:
        rows = [(str(layer), _cell(change)) for layer, change in enumerate(found.layers)]
        lines = [f"  layer {layer:>2} {cell:>9}" for layer, cell in rows]
        made += ["", "change in points without one layer:"]
        made += [Table(header=("layer", "change"), rows=rows, plain=lines), *_spread(found.layers)]
    return made


def _table(table: Sequence[Sequence[Change]]) -> Table:
    columns = max(len(row) for row in table)
    rows = [[str(layer), *map(_cell, row)] for layer, row in enumerate(table)]
    lines = ["  layer" + "".join(f"{head:>8} " for head in range(columns))]
    lines += [f"  {layer:>5}" + "".join(f"{cell:>9}" for cell in cells) for layer, *cells in rows]
    filled = [[*row, *[""] * (1 + columns - len(row))] for row in rows]
    return Table(header=("layer", *map(str, range(columns))), rows=filled, plain=lines)


def _cell(change: Change) -> str:
    error = change.standard_error
    marked = error is not None and abs(change.points) > SIGNIFICANT * error
    return f"{change.points:+.2f}{'*' if marked else ' '}"


def _spread(changes: Sequence[Change]) -> list[str]:
    errors = [change.standard_error for change in changes if change.standard_error is not None]
    if not errors:
        return []
    return [
        (
            f"  standard error of a change (paired rows): {min(errors):.2f} to {max(errors):.2f}; "
            f"* marks a change of more than {SIGNIFICANT} standard errors (p < 0.01, not corrected for many tests)"
        )
    ]
