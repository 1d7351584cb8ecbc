"""`ablate`: measures what each head and layer of a model is worth."""

import json
from typing import TYPE_CHECKING, Any

from exporters.ablation.request import ALONE, HEADS, LAYERS, WHAT, AblateRequest
from exporters.request_fields import check_request
from models_tf import extras
from models_tf.errors import naming_fields

if TYPE_CHECKING:
    from models_tf.compress.ablation_result import Ablation
    from models_tf.training.progress import Progress


@naming_fields()
def ablate(request: AblateRequest, *, progress: "Progress | None" = None, command: str = "") -> "Ablation":
    """Score the whole model and the model without each head or layer; write `request.output` if given.

    `progress` shows notes on the rows and how many variants are done. `command` goes into the file. Raises InputError
    for a checkpoint, data or output that cannot be used.
    """
    check_request(request, AblateRequest)
    extras.require(extras.EXPORT, "An ablation")
    from models_tf.checkpoints import encoder
    from models_tf.checkpoints.atomic_files import write_files
    from models_tf.compress import ablation, rows
    from models_tf.tasks.rows import Columns

    start = encoder.load(request.checkpoint, model=request.model)
    columns = Columns(text=request.text_column, pair=request.text_pair_column, label=request.label_column)
    found = rows.read(start, request.data, task=request.task, columns=columns, max_seq_len=request.max_seq_len)
    if request.rows is not None:
        found = found.take(range(min(request.rows, len(found))))
    wanted = WHAT[request.what]

    def report(done: int, total: int) -> None:
        if progress:
            (progress.line if done == total else progress.live)(f"{done} of {total} variants")

    if progress:
        for note in found.notes:
            progress.line(note)
    result = ablation.ablate(
        start, found, heads=HEADS in wanted, alone=ALONE in wanted, layers=LAYERS in wanted, report=report
    )
    if request.output is not None:
        content = json.dumps(record(request, result, command), indent=1) + "\n"
        write_files(request.output.parent, {request.output.name: content.encode()})
    return result


def record(request: AblateRequest, result: "Ablation", command: str) -> dict[str, Any]:
    """The result and where it comes from, for JSON."""
    return {
        "command": command,
        "checkpoint": request.checkpoint.name,
        "data": request.data.name,
        **result.to_dict(),
    }
