"""The rows of a data file as inputs of a shipped file: through its own projection or its own tokenizer."""

from pathlib import Path

from exporters.data.rows import Examples, Reader
from exporters.data.text_rows import Project, TextReader
from exporters.data.token_rows import TokenReader
from exporters.shipped.model import Shipped
from models_tf.errors import InputError
from models_tf.tasks.rows import Columns


def read(shipped: Shipped, data: Path, *, columns: Columns, label_separator: str) -> Examples:
    """Labelled rows."""
    if not data.exists():
        raise InputError(f"--data must be a file with labelled rows. Received: {data} (no such file).")
    return reader(shipped, columns=columns, label_separator=label_separator).read(data)


def reader(shipped: Shipped, *, columns: Columns, label_separator: str) -> Reader:
    if shipped.task is None:
        return TextReader(
            labels=shipped.labels,
            multi_label=shipped.multi_label,
            project=_projection(shipped),
            columns=columns,
            label_separator=label_separator,
        )
    return _token_reader(shipped, columns)


def _projection(shipped: Shipped) -> Project | None:
    if shipped.projection is None:
        return None
    from models_tf.ops.projection.config import ProjectionConfig
    from models_tf.ops.projection.library import HostProjection

    try:
        host = HostProjection(ProjectionConfig.from_dict(shipped.projection))
    except InputError:  # a ValueError, too: the library is missing, say
        raise
    except (TypeError, ValueError, KeyError) as error:
        raise InputError(
            f"projection.json must have the config as the export wrote it. Received: {str(error).rstrip('.')}."
        ) from error
    return lambda texts: host.project(texts)[0]


def _token_reader(shipped: Shipped, columns: Columns) -> TokenReader:
    from models_tf.tokenizers.files import read_tokenizer_files
    from models_tf.tokenizers.tokenizer import Tokenizer

    if shipped.multi_label:
        raise InputError(
            f"{shipped.path.name} gives several labels a row, which token models are not measured on. "
            "Check a file with one label a row."
        )
    tokenizer = Tokenizer.from_files(read_tokenizer_files(shipped.folder), f"Folder {shipped.folder}")
    if tokenizer.vocab_size != shipped.vocab_size:
        raise InputError(
            f"The tokenizer beside {shipped.path.name} must have {shipped.vocab_size} tokens, as model.json says. "
            f"Received: {tokenizer.vocab_size}. Put the files of one export together."
        )
    return TokenReader(
        task=str(shipped.task),
        labels=shipped.labels,
        vocab_size=shipped.vocab_size,
        pairs=True,
        max_seq_len=shipped.max_seq_len,
        tokenizer=tokenizer,
        columns=columns,
    )
