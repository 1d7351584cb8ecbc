"""Logits of a fine-tuned Hugging Face classifier for each row of a TSV, as a teacher for `export-mobile train`.

    pip install torch transformers
    python benchmarks/teacher_logits.py CHECKPOINT_FOLDER FILE.tsv OUTPUT.npy

The columns of the result follow the labels sorted by name, as `export-mobile train` numbers them; the checkpoint's
labels must be these names or numbers in that order. Weights are read from safetensors; no pickle is executed.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification, BertTokenizerFast

BATCH, MAX_TOKENS = 128, 128


def main(checkpoint: Path, table: Path, output: Path) -> None:
    texts = [line.split("\t")[0] for line in table.read_text(encoding="utf-8").splitlines()[1:]]
    tokenizer = BertTokenizerFast(vocab=str(checkpoint / "vocab.txt"), do_lower_case=True)
    model = AutoModelForSequenceClassification.from_pretrained(checkpoint, use_safetensors=True).eval()
    order = np.argsort([text.count(" ") for text in texts], kind="stable")
    logits = np.zeros((len(texts), model.config.num_labels), np.float32)
    with torch.inference_mode():
        for start in range(0, len(texts), BATCH):
            part = order[start : start + BATCH]
            rows = [texts[i] for i in part]
            inputs = tokenizer(rows, padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt")
            logits[part] = model(**inputs).logits.numpy()
    np.save(output, logits.astype(np.float16))
    print(f"{output}: {logits.shape[0]} rows, {logits.shape[1]} labels")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*map(Path, sys.argv[1:]))
