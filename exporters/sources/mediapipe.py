"""Whether a token model has the form that MediaPipe's TextClassifier takes, and what goes into that file.

MediaPipe reads a BERT classifier of single texts with a WordPiece vocabulary in lower case, and ranks its labels.
Everything else is refused here, before any work, with the reason.
"""

from exporters.data.rows import Rows
from exporters.data.token_rows import TokenRows
from exporters.formats.graph import MediaPipeForm
from models_tf.checkpoints.encoder import EncoderCheckpoint
from models_tf.encoder.heads import CLASSIFICATION
from models_tf.errors import InputError
from models_tf.tokenizers.files import VOCAB, WORDPIECE
from models_tf.tokenizers.template import bert_template
from models_tf.tokenizers.tokenizer import Tokenizer

# MediaPipe knows them by these names alone.
_SPECIAL = ("[CLS]", "[SEP]", "[UNK]")


def mediapipe_form(checkpoint: EncoderCheckpoint, task: str, tokenizer: Tokenizer | None) -> MediaPipeForm:
    """An `InputError` names what does not fit."""
    if task != CLASSIFICATION or tokenizer is None:
        raise InputError(f"--mediapipe is for classifiers. Received: a model for {task}.")
    if checkpoint.gives_several:
        raise InputError("--mediapipe is for models with one label per text. Received: a model with several.")
    if tokenizer.kind != WORDPIECE:
        raise InputError(f"--mediapipe needs a WordPiece vocabulary. Received: a {tokenizer.kind} tokenizer.")
    if tokenizer.basic_tokens("A") != ["a"]:
        raise InputError(
            "--mediapipe needs a vocabulary in lower case, since MediaPipe lowers every text. Received: a cased one."
        )
    vocabulary = tokenizer.files()[VOCAB]
    places = {token: number for number, token in enumerate(vocabulary.decode().splitlines())}
    if [places.get(token) for token in _SPECIAL] != [tokenizer.cls_id, tokenizer.sep_id, tokenizer.unk_id]:
        raise InputError(f"--mediapipe needs the special tokens {', '.join(_SPECIAL)}. Received: a vocabulary without.")
    if tokenizer.single != bert_template(tokenizer.cls_id, tokenizer.sep_id, pairs=False):
        raise InputError(
            "--mediapipe needs a tokenizer that makes rows of [CLS] text [SEP], as MediaPipe does. "
            "Received: another template."
        )
    return MediaPipeForm(name=checkpoint.model_name, labels=tuple(checkpoint.labels), vocabulary=vocabulary)


def check_single_texts(rows: Rows) -> None:
    """Refuses data of pairs: MediaPipe gives a model one text."""
    for examples in (rows.evaluation, rows.calibration):
        if isinstance(examples, TokenRows) and examples.task_rows is not None and examples.task_rows.pairs:
            raise InputError("--mediapipe is for single texts. Received: rows with a second text.")
