"""Names inside of the files that we write: inputs, the output, the signature. They are also the names of the graphs."""

FEATURES = "features"
TEXT = "text"
LOGITS = "logits"
# What only the reference answers, of models that drop tokens: how clearly it chose, for each row.
MARGIN = "margin"
SIGNATURE = "serving_default"


def plain_name(name: str) -> str:
    """The name of an input as its author gave it: TFLiteConverter makes `serving_default_ids:0` of `ids`."""
    return name.removeprefix(f"{SIGNATURE}_").partition(":")[0]
