"""Tags each word with a tagger's .tflite: python examples/tag_words.py FOLDER "some text" [recipe=int8]

FOLDER was written by `export-mobile --model tagger --checkpoint DIR ...`. Needs only ai-edge-litert and tokenizers, not
this package. Words are split at spaces here; split them as the model's training data does.
"""

import json
import sys
from pathlib import Path

import numpy as np
from ai_edge_litert.interpreter import Interpreter
from tokenizers import Tokenizer

if len(sys.argv) not in (3, 4):
    sys.exit(__doc__)
folder, words = Path(sys.argv[1]), sys.argv[2].split()
recipe = (sys.argv[3] if len(sys.argv) > 3 else "int8").replace("-", "_")  # as in the file names
length = json.loads((folder / "model.json").read_text(encoding="utf-8"))["length"]

tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
tokenizer.enable_truncation(length["max"])
if not length["any"]:  # else the file takes the text as long as it is
    tokenizer.enable_padding(length=length["max"])
encoded = tokenizer.encode(words, is_pretokenized=True)
values = {"ids": encoded.ids, "mask": encoded.attention_mask, "segments": encoded.type_ids}

run = Interpreter(str(folder / f"model_{recipe}.tflite")).get_signature_runner()
logits = run(**{name: np.array([values[name]], np.int32) for name in run.get_input_details()})["logits"][0]
labels = (folder / "labels.txt").read_text(encoding="utf-8").splitlines()
tags = dict.fromkeys(range(len(words)), "-")  # for words that do not fit
for place, word in reversed(list(enumerate(encoded.word_ids))):  # backwards: the first piece of a word decides
    if word is not None:  # a special token has no word
        tags[word] = labels[int(logits[place].argmax())]  # the largest is the same before int8 is scaled
for word, tag in zip(words, tags.values(), strict=True):
    print(f"{word}\t{tag}")
