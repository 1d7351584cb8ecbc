"""Unharmed inputs that kinds copy and change: checkpoints, rows and exports, all tiny. Made once for a run.

`place()` is where they are. Whoever makes a tensor does so in a process of its own.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.attack import command

LABELS = ["no", "yes", "perhaps"]
TEXTS = [f"{a} {b} {a + b}" for a, b in ((1, 2), (3, 4), (5, 6), (7, 8), (9, 10), (11, 12), (13, 14), (15, 16))]
DONE = "complete"
_FOLDER = "EXPORT_MOBILE_ATTACK_MATERIALS"


def place() -> Path:
    """The folder of this run."""
    return Path(os.environ[_FOLDER])


def make(folder: Path) -> None:
    """All of them, unless they are there."""
    os.environ[_FOLDER] = str(folder)
    if (folder / DONE).exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    _rows(folder)
    subprocess.run([sys.executable, "-m", "tests.attack.materials", str(folder)], check=True, cwd=command.ROOT)
    for name, arguments in EXPORTS.items():
        _run(folder, [*arguments, "--output", f"ROOT/{name}"])
    _run(folder, BASELINE)
    (folder / DONE).touch()


EXPORTS = {
    "export-bert": ["--checkpoint", "ROOT/bert", "--eval-data", "ROOT/rows.tsv", "--quantize", "int8"],
    "export-prado": ["--checkpoint", "ROOT/prado", "--eval-data", "ROOT/rows.tsv", "--quantize", "int8"],
    "export-labels": ["--checkpoint", "ROOT/labels", "--eval-data", "ROOT/labels.tsv", "--target", "onnx"],
    "export-tagger": ["--checkpoint", "ROOT/tagger", "--eval-data", "ROOT/rows.conll", "--quantize", "float32"],
}


BASELINE = ["check", "ROOT/export-bert/model_int8.onnx", "--data", "ROOT/rows.tsv", "--baseline", "ROOT/baseline.json"]
BASELINE += ["--update-baseline"]


def _run(folder: Path, arguments: list[str]) -> None:
    words = [word.replace("ROOT", str(folder)) for word in arguments]
    made = command.run(words, folder=folder, cwd=folder)
    if made.code:
        raise RuntimeError(f"{' '.join(words)} failed: {made.stderr.decode(errors='replace')[-2000:]}")


def _rows(folder: Path) -> None:
    pairs = [(text, LABELS[place % 3]) for place, text in enumerate(TEXTS * 3)]
    (folder / "rows.tsv").write_text("text\tlabel\n" + "".join(f"{a}\t{b}\n" for a, b in pairs))
    (folder / "rows.csv").write_text("text,label\n" + "".join(f'"{a}",{b}\n' for a, b in pairs))
    (folder / "rows.jsonl").write_text("".join(json.dumps({"text": a, "label": b}) + "\n" for a, b in pairs))
    several = "".join(f"{a}\t{b}|{LABELS[0]}\n{a} 1\t\n" for a, b in pairs)
    (folder / "labels.tsv").write_text(f"text\tlabel\n{several}")
    tags = ["O", "B-X", "I-X", "O", "B-Y"]
    sentence = "".join(f"{number}\t{tag}\n" for number, tag in enumerate(tags))
    (folder / "rows.conll").write_text(f"{sentence}\n" * 8)
    words = "".join(f"{n + 1}\t{n}\t{n}\tNOUN\t_\t_\t0\troot\t_\t_\n" for n in range(5))
    (folder / "rows.conllu").write_text(f"# sent_id = 1\n# text = 0 1 2 3 4\n{words}\n" * 8)
    from support import squad_files

    squad_files.write_json(folder / "squad.json", squad_files.document())


def _checkpoints(folder: Path) -> None:
    from models_tf import registry
    from support import byte_pairs, checkpoint_folders, sentence_folders, spiece_files, tiny_models

    for model in registry.names(registry.TOKENS):
        if model not in ("roberta", "tagger"):  # written below, with tokens and labels of their own
            tiny_models.write_checkpoint(folder / model, model)
    byte_pairs.write_roberta(folder / "roberta")
    for place, model, size, name, content in (
        ("xlm-pieces", "xlm-roberta", spiece_files.XLMR_TOKENS, "sentencepiece.bpe.model", spiece_files.xlmr_model()),
        ("deberta-pieces", "deberta-v2", spiece_files.DEBERTA_TOKENS, "spm.model", spiece_files.deberta_model()),
    ):
        pieces = tiny_models.write_checkpoint(folder / place, model, vocab_size=size)
        (pieces / "vocab.txt").unlink()
        (pieces / name).write_bytes(content)
    tiny_models.write_checkpoint(folder / "labels", "bert")
    checkpoint_folders.edit_document(folder / "labels", problem_type="multi_label_classification")
    tiny_models.write_checkpoint(
        folder / "tagger", "tagger", "token-classification", labels=["O", "B-X", "I-X", "B-Y", "I-Y"]
    )
    tiny_models.write_checkpoint(folder / "squad", "bert", "question-answering")
    sentence_folders.write_sentence_folder(folder / "sentences", settings={"max_seq_length": 12})
    sentence_folders.write_sentence_folder(folder / "sentences_apart", encoder="0_Transformer")
    sentence_folders.write_pairs(folder / "pairs.tsv")
    tiny_models.write_projection(folder / "prado", LABELS)


def copy(name: str, folder: Path, to: str | None = None, *, change: Callable[[Path], None] | None = None) -> Path:
    """A copy of a material in the folder of a case."""
    source, target = place() / name, folder / (to or name)
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copyfile(source, target)
    if change is not None:
        change(target)
    return target


if __name__ == "__main__":
    _checkpoints(Path(sys.argv[1]))
