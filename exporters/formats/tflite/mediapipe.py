"""The form of a .tflite file that MediaPipe's TextClassifier and the Task library take for BERT classifiers.

One graph with three int32 inputs of one length, `ids`, `segment_ids` and `mask`, and one output, the probability of
each label: both libraries show the numbers of the output as scores. Metadata name the tensors and pack vocabulary and
labels into the file. They tokenize texts themselves, and not quite as the `tokenizers` package does: docs/mediapipe.md.
"""

from collections.abc import Sequence
from typing import Any

from exporters.formats.graph import MediaPipeForm
from exporters.formats.tflite.metadata import AXIS_LABELS, VOCABULARY, packed
from quantize.tflite.passes.classifier_form import INPUTS

# Versions of the metadata's schema: the first with a BERT tokenizer.
_PARSER_VERSION = "1.1.0"
_LABELS, _VOCAB = "labels.txt", "vocab.txt"
_ABOUT = {
    "ids": "Numbers of the tokens: [CLS], the text, [SEP], then 0.",
    "segment_ids": "0 for every token.",
    "mask": "1 for a token, 0 for padding.",
}
_FEATURES = {"content_properties": ("FeatureProperties", dict[str, Any]())}


def with_metadata(content: bytes, form: MediaPipeForm) -> bytes:
    """The file with metadata, vocabulary and labels."""
    return packed(content, _metadata(form), {_LABELS: _lines(form.labels), _VOCAB: form.vocabulary})


def _metadata(form: MediaPipeForm) -> dict[str, Any]:
    vocabulary = {"name": _VOCAB, "description": "WordPiece vocabulary, a token a line.", "type": VOCABULARY}
    labels = {"name": _LABELS, "description": "The labels, in the order of the scores.", "type": AXIS_LABELS}
    return {
        "name": form.name,
        "description": "Classifies a text: the probability of each label.",
        "subgraph_metadata": [
            {
                "input_tensor_metadata": [
                    {"name": name, "description": _ABOUT[name], "content": _FEATURES, "stats": {}} for name in INPUTS
                ],
                "output_tensor_metadata": [
                    {
                        "name": "probability",
                        "description": "Probability of each label.",
                        "content": _FEATURES,
                        "stats": {"max": [1.0], "min": [0.0]},
                        "associated_files": [labels],
                    }
                ],
                "input_process_units": [{"options": ("BertTokenizerOptions", {"vocab_file": [vocabulary]})}],
            }
        ],
        "min_parser_version": _PARSER_VERSION,
    }


def _lines(labels: Sequence[str]) -> bytes:
    return "".join(f"{label}\n" for label in labels).encode()
