"""Names inside of the files that we write: inputs, outputs, the signature. Names of inputs are also names of graphs."""

FEATURES = "features"
TEXT = "text"
# A graph: its input is `text` as well, the bytes of it.
BYTES = "bytes"
# What the files of a projection model take, by graph.
INPUTS = {FEATURES: (FEATURES,), TEXT: (TEXT,), BYTES: (TEXT,)}
# A graph of a token model that MediaPipe takes.
MEDIAPIPE = "mediapipe"
LOGITS = "logits"
PROBABILITIES, LABEL = "probabilities", "label"
# What only the reference answers, of models that drop tokens: how clearly it chose, for each row.
MARGIN = "margin"
SIGNATURE = "serving_default"


def plain_name(name: str) -> str:
    """The name of an input as its author gave it: TFLiteConverter makes `serving_default_ids:0` of `ids`."""
    return name.removeprefix(f"{SIGNATURE}_").partition(":")[0]
