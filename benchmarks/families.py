"""int8 of each family of checkpoints on real sentences: accuracy of the float model and of every file.

    python benchmarks/families.py --weights BERT_FOLDER --data SST2_FOLDER [--families distilbert electra] [--seed 1]
        [--result docs/results/families.json]

No published weights of these families are at hand. Each model starts from the layers of a BERT that was fine-tuned on
the same task, which have the same form in all of them, and is trained for some hundred steps. RoBERTa and XLM-RoBERTa
get a vocabulary of their own, learnt from the training rows; a token begins as the mean of BERT's pieces for its text.
The last rows of the training file pick the best epoch, dev.tsv measures.
"""

import argparse
import dataclasses
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from exporters import ExportRequest, TrainRequest, export, train
from exporters.report.versions import cpu_name, versions
from models_tf.checkpoints import encoder as checkpoints
from models_tf.checkpoints.encoder import EncoderCheckpoint
from models_tf.data.table import read_table
from models_tf.deberta_v2.config import V3_BASE
from models_tf.mpnet.config import UNUSED_POSITIONS
from models_tf.tokenizers.tokenizer import Tokenizer

COMMAND = "python benchmarks/families.py"
RECIPES = ("int8", "int8-dynamic")
PICKING_ROWS = 1000
WORDS = 8000
# RoBERTa's order.
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
LENGTH = 64
# Keys of DeBERTa-v3 that say how it attends to distances.
DISTANCES = ("relative_attention", "position_buckets", "norm_rel_ebd", "share_att_key", "pos_att_type")


def byte_pairs(texts: list[str]) -> bytes:
    from tokenizers import Tokenizer as Backend
    from tokenizers import models, pre_tokenizers, processors, trainers

    made = Backend(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        texts,
        trainers.BpeTrainer(vocab_size=WORDS, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False),
    )
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return made.to_str().encode()


def unigram(texts: list[str]) -> bytes:
    from tokenizers import Tokenizer as Backend
    from tokenizers import models, pre_tokenizers, processors, trainers

    made = Backend(models.Unigram())
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.train_from_iterator(
        texts,
        trainers.UnigramTrainer(vocab_size=WORDS, special_tokens=SPECIAL, unk_token="<unk>", show_progress=False),
    )
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return made.to_str().encode()


def shown(token: str) -> str:
    """The text of a token."""
    from tokenizers import decoders

    return (
        decoders.ByteLevel().decode([token]).strip() if "\u2581" not in token else token.replace("\u2581", " ").strip()
    )


def words_for(tokenizer: Tokenizer, bert: EncoderCheckpoint) -> np.ndarray:
    """A row for each token: the mean of BERT's pieces for its text."""
    old, table = Tokenizer.from_files(bert.tokenizer_files), bert.tensors["word_embedding"]
    same = {tokenizer.pad_id: old.pad_id, tokenizer.cls_id: old.cls_id, tokenizer.sep_id: old.sep_id}
    same[tokenizer.unk_id] = old.unk_id
    rows = []
    for number, pieces in enumerate(old.pieces([shown(token) for token in tokenizer.tokens])):
        rows.append(table[same[number]] if number in same else table[pieces.ids or [old.unk_id]].mean(0))
    return np.stack(rows).astype(np.float32)


def sizes(bert: EncoderCheckpoint) -> dict[str, Any]:
    """Keys of config.json that BERT, ELECTRA and RoBERTa share."""
    names = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "layer_norm_eps")
    return {name: bert.document[name] for name in names}


def distilbert(bert: EncoderCheckpoint, _texts: list[str]) -> tuple[dict[str, Any], dict[str, np.ndarray], Any]:
    config = bert.config
    document = {
        "model_type": "distilbert", "vocab_size": config.vocab_size, "dim": config.hidden_size,
        "n_layers": config.num_layers, "n_heads": config.num_heads, "hidden_dim": config.intermediate_size,
        "max_position_embeddings": config.max_positions,
    }  # fmt: skip
    tables = bert.tensors
    return document, {"position_embedding": tables["position_embedding"] + tables["segment_embedding"][0]}, None


def electra(bert: EncoderCheckpoint, _texts: list[str]) -> tuple[dict[str, Any], dict[str, np.ndarray], Any]:
    config = bert.config
    document = {**sizes(bert), "model_type": "electra", "vocab_size": config.vocab_size,
                "embedding_size": config.hidden_size, "max_position_embeddings": config.max_positions}  # fmt: skip
    return document, {}, None


def roberta(
    bert: EncoderCheckpoint, texts: list[str], *, name: str = "roberta", learn: Any = byte_pairs
) -> tuple[dict[str, Any], dict[str, np.ndarray], Any]:
    files = {"tokenizer.json": learn(texts)}
    tokenizer = Tokenizer.from_files(files)
    document = {**sizes(bert), "model_type": name, "vocab_size": tokenizer.vocab_size, "type_vocab_size": 1,
                "pad_token_id": tokenizer.pad_id,
                "max_position_embeddings": bert.config.max_positions + tokenizer.pad_id + 1}  # fmt: skip
    changed = {
        "word_embedding": words_for(tokenizer, bert),
        "segment_embedding": bert.tensors["segment_embedding"][:1],
    }
    return document, changed, files


def xlm_roberta(bert: EncoderCheckpoint, texts: list[str]) -> tuple[dict[str, Any], dict[str, np.ndarray], Any]:
    return roberta(bert, texts, name="xlm-roberta", learn=unigram)


def mpnet(bert: EncoderCheckpoint, _texts: list[str]) -> tuple[dict[str, Any], dict[str, np.ndarray], Any]:
    """Relative positions begin at random, as all that BERT lacks; without segments."""
    document = {**sizes(bert), "model_type": "mpnet", "vocab_size": bert.config.vocab_size,
                "pad_token_id": bert.config.pad_id,
                "max_position_embeddings": bert.config.max_positions + UNUSED_POSITIONS}  # fmt: skip
    tables = bert.tensors
    return document, {"position_embedding": tables["position_embedding"] + tables["segment_embedding"][0]}, None


def deberta_v2(bert: EncoderCheckpoint, _texts: list[str]) -> tuple[dict[str, Any], dict[str, np.ndarray], Any]:
    """Attention as in v3, with BERT's positions in the sum. Relative positions begin at random and small, and queries
    grow by what the scores are divided by.
    """
    document = {**sizes(bert), "model_type": "deberta-v2", "vocab_size": bert.config.vocab_size,
                "pad_token_id": bert.config.pad_id, "max_position_embeddings": bert.config.max_positions,
                **{key: V3_BASE[key] for key in DISTANCES}, "type_vocab_size": 0}  # fmt: skip
    tables = bert.tensors
    changed = {name: value * np.sqrt(3.0, dtype=np.float32) for name, value in tables.items() if ".query." in name}
    changed["position_embedding"] = tables["position_embedding"] + tables["segment_embedding"][0]
    changed["relative_norm.gamma"] = np.full(bert.config.hidden_size, 0.1, np.float32)
    return document, changed, None


# Family -> what its checkpoint starts from, and epochs over a part of the rows.
FAMILIES: dict[str, tuple[Any, int]] = {
    "distilbert": (distilbert, 1), "electra": (electra, 1), "roberta": (roberta, 2), "xlm-roberta": (xlm_roberta, 2),
    "mpnet": (mpnet, 2), "deberta-v2": (deberta_v2, 2),
}  # fmt: skip


def start(name: str, bert: EncoderCheckpoint, texts: list[str], folder: Path) -> None:
    document, changed, files = FAMILIES[name][0](bert, texts)
    fresh = checkpoints.random_init(
        name, document, head="classification", labels=bert.labels, tokenizer_files=files or bert.tokenizer_files
    )
    given = {**bert.tensors, **changed}
    tensors = {
        key: given[key] if key in given and not key.startswith("pooler.") else value
        for key, value in fresh.tensors.items()
    }
    checkpoints.save(folder, dataclasses.replace(checkpoints.with_tensors(fresh, tensors)))


def split(rows: Path, folder: Path, training: int, seed: int) -> tuple[Path, Path]:
    """A part of the training rows, and the last ones, which pick the best epoch."""
    header, *lines = rows.read_text(encoding="utf-8").splitlines()
    picked = np.random.default_rng(seed).permutation(len(lines) - PICKING_ROWS)[:training]
    parts = {"train.tsv": [lines[place] for place in picked], "pick.tsv": lines[-PICKING_ROWS:]}
    for file, content in parts.items():
        (folder / file).write_text("\n".join([header, *content]) + "\n", encoding="utf-8")
    return folder / "train.tsv", folder / "pick.tsv"


def measure(name: str, options: argparse.Namespace, work: Path) -> Iterator[dict[str, Any]]:
    bert = checkpoints.load(options.weights)
    rows, pick = split(options.data / "train.tsv", work, options.rows, options.seed)
    start(name, bert, [row.text for row in read_table(rows)], work / "start")
    trained = train(
        TrainRequest(
            model=name, checkpoint=work / "start", train=rows, dev=pick, output=work / "trained", max_seq_len=LENGTH,
            epochs=FAMILIES[name][1], batch_size=32, learning_rate=5e-5, seed=options.seed,
        )
    )  # fmt: skip
    for recipe in RECIPES:
        report = export(
            ExportRequest(
                checkpoint=trained.output, eval_data=options.data / "dev.tsv", calibration_data=rows, quantize=recipe,
                output=work / recipe,
            )
        )  # fmt: skip
        keras = report.accuracy[0].score
        for file in report.model_files():
            stage = next(one for one in report.accuracy if one.stage.startswith(f"{file.name} on"))
            yield {
                "family": name, "file": file.name, "recipe": recipe, "size_bytes": file.size_bytes, "n": keras.n,
                "float": keras.value, "value": stage.score.value, "drop": keras.value - stage.score.value,
                "interval": list(stage.score.interval or ()), "passed": report.passed,
                "training_rows": options.rows, "vocabulary": trained_words(trained.output),
            }  # fmt: skip


def trained_words(folder: Path) -> int:
    return int(json.loads((Path(folder) / "config.json").read_text())["vocab_size"])


def shown_command(options: argparse.Namespace) -> str:
    """Without the place of the result, and with the names of the folders alone."""
    parts = [COMMAND, "--weights", options.weights.name, "--data", options.data.name, "--families", *options.families]
    return " ".join([*parts, "--rows", str(options.rows), "--seed", str(options.seed)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=FAMILIES)
    parser.add_argument("--rows", type=int, default=8000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--result", type=Path, default=Path("docs/results/families.json"))
    options = parser.parse_args()
    known = json.loads(options.result.read_text())["files"] if options.result.exists() else []
    for name in options.families:
        work = Path(tempfile.mkdtemp(prefix="families-"))
        found = list(measure(name, options, work))
        shutil.rmtree(work)
        origin = {"command": shown_command(options), "cpu": cpu_name(), "seed": options.seed}
        others = [entry for entry in known if (entry["family"], entry["seed"]) != (name, options.seed)]
        known = others + [entry | origin for entry in found]
        document = {"command": COMMAND, "files": known, "versions": versions()}
        options.result.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        for entry in found:
            print(*entry.values(), flush=True)


if __name__ == "__main__":
    main()
