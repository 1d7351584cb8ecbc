"""A byte-level vocabulary as RoBERTa has it, learnt from a few sentences: vocab.json, merges.txt, tokenizer.json."""

import functools
import json

TEXTS = (
    "the quick brown fox jumps over the lazy dog",
    "a film that is good, and a film that was bad!",
    "Wer wohnt in Berlin? Anna Smith lives there, since 1999.",
    "naïve café - 東京 🙂 don't",
)
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


@functools.cache
def byte_pairs(size: int = 400) -> dict[str, bytes]:
    """The files by name. Numbers of special tokens are RoBERTa's: padding is 1."""
    from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, processors, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(TEXTS * 20, trainer)
    made.add_special_tokens([AddedToken("<mask>", special=True, normalized=False, lstrip=True)])
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    model = json.loads(made.to_str())["model"]
    pairs = [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]]
    return {
        "tokenizer.json": made.to_str().encode(),
        "vocab.json": json.dumps(model["vocab"]).encode(),
        "merges.txt": ("#version: 0.2\n" + "".join(f"{pair}\n" for pair in pairs)).encode(),
    }
