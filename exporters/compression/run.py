"""`compress`: reads a checkpoint, makes it smaller and writes it."""

import json
from typing import TYPE_CHECKING

from exporters.compression.prepare import ChosenBy, compress_checkpoint
from exporters.compression.request import CompressRequest
from exporters.compression.result import CompressResult
from exporters.request_fields import check_request
from models_tf import extras
from models_tf.checkpoints.folder import RECORD_FILE
from models_tf.errors import naming_fields
from models_tf.folders.output_folder import OutputFolder

if TYPE_CHECKING:
    from models_tf.training.progress import Progress


@naming_fields()
def compress(request: CompressRequest, *, progress: "Progress | None" = None, command: str = "") -> CompressResult:
    """Write a smaller checkpoint to `request.output`, with a record of what was kept.

    `progress` shows notes on the rows and on what removed nothing. `command` goes into the record. The folder appears
    complete, or not at all when an error is raised. Raises InputError for a checkpoint, data or folder that cannot be
    used.
    """
    check_request(request, CompressRequest)
    extras.require(extras.EXPORT, "A compression")
    from models_tf.checkpoints import encoder
    from models_tf.compress.source import load_bert
    from models_tf.tasks.rows import Columns

    with OutputFolder(request.output, command="compress", force=request.force, inputs=request.inputs) as folder:
        start = load_bert(str(request.checkpoint), request.model)
        data = ChosenBy(
            rows=request.data,
            count=request.rows,
            task=request.task,
            max_seq_len=request.max_seq_len,
            vocab_data=request.vocab_data,
            columns=Columns(text=request.text_column, pair=request.text_pair_column, label=request.label_column),
        )
        source, note = f"Checkpoint {request.checkpoint}", progress.line if progress else None
        made = compress_checkpoint(start, request.compression, data, source=source, note=note)
        record = {
            "command": command,
            "checkpoint": request.checkpoint.name,
            "model": made.checkpoint.model_name,
            "head": made.checkpoint.head.kind,
            "data": request.data.name if request.data and request.compression.needs_rows else None,
            "vocab_data": [path.name for path in request.vocab_data],
            **made.record,
        }
        content = (json.dumps(record, indent=1) + "\n").encode()
        encoder.save(folder.staging, made.checkpoint, beside={RECORD_FILE: content})
        folder.commit()
    return CompressResult(
        checkpoint=request.checkpoint,
        output=request.output,
        model=made.checkpoint.model_name,
        parameters_before=made.record["parameters"]["before"],
        parameters_after=made.record["parameters"]["after"],
        record={**record, "output": str(request.output)},
    )
