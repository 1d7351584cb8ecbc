"""The rows of a data file as inputs of a shipped file: through its own projection or its own tokenizer."""

from pathlib import Path

from exporters.data.rows import Examples, Reader
from exporters.data.text_rows import Project, TextReader
from exporters.data.token_rows import TokenReader
from exporters.shipped.model import Shipped
from models_tf.data import DEFAULT_THRESHOLD, check_threshold_use
from models_tf.errors import InputError
from models_tf.tasks.multi_label import Several
from models_tf.tasks.rows import Columns


def read(
    shipped: Shipped, data: Path, *, columns: Columns, label_separator: str, label_threshold: float | None = None
) -> Examples:
    """Labelled rows."""
    if not data.exists():
        raise InputError(f"--data must be a file with labelled rows. Received: {data} (no such file).")
    received = f"{shipped.path.name}, which gives one label"
    check_threshold_use(label_threshold, multi_label=shipped.multi_label, received=received)
    several = Several(separator=label_separator, threshold=label_threshold or DEFAULT_THRESHOLD)
    return _reader(shipped, columns=columns, several=several).read(data)


def _reader(shipped: Shipped, *, columns: Columns, several: Several) -> Reader:
    if shipped.task is None:
        return TextReader(
            labels=shipped.labels,
            multi_label=shipped.multi_label,
            project=_projection(shipped),
            columns=columns,
            label_separator=several.separator,
            label_threshold=several.threshold,
        )
    return _token_reader(shipped, columns, several)


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


def _token_reader(shipped: Shipped, columns: Columns, several: Several) -> TokenReader:
    from models_tf.tokenizers.files import read_tokenizer_files
    from models_tf.tokenizers.tokenizer import Tokenizer

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
        several=several if shipped.multi_label else None,
    )
