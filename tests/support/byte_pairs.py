"""A byte-level vocabulary as RoBERTa has it, learnt from a few sentences: vocab.json, merges.txt, tokenizer.json."""

import functools
import json
from pathlib import Path

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


def write_roberta(folder: Path) -> Path:
    """A folder with a RoBERTa whose words are byte pairs, in vocab.json and merges.txt."""
    from models_tf.checkpoints import encoder
    from support.tiny_models import tiny_encoder

    files = byte_pairs()
    made = tiny_encoder(
        "roberta", vocab_size=len(json.loads(files["vocab.json"])), pad_token_id=1, max_position_embeddings=18
    )
    made.tokenizer_files.clear()
    made.tokenizer_files.update({name: files[name] for name in ("vocab.json", "merges.txt")})
    encoder.save(folder, made)
    return folder
