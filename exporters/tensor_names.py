"""Names inside of the files that we write: inputs, the output, the signature. They are also the names of the graphs."""

FEATURES = "features"
TEXT = "text"
LOGITS = "logits"
SIGNATURE = "serving_default"
