"""The app of examples/android for tests: texts, resources, assets, and the answers of Python and Java."""

import json
import random
import re
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np

from exporters import ExportRequest, export
from models_tf.tokenizers.tokenizer import Tokenizer
from support import android_jvm as jvm
from support.shipped_files import BUNDLED
from support.tiny_models import TOKENS, VOCAB, write_checkpoint

TEXTS = 1000
LENGTH = 32
RESOURCES = jvm.PROJECT / "app" / "src" / "main" / "res"


def texts() -> list[str]:
    """The 301 rows of the bundled SNIPS, and made up ones: their words among rare characters, empty and long ones."""
    rows = [line.split("\t")[0] for line in (BUNDLED / "snips" / "eval.tsv").read_text().splitlines()[1:]]
    words = sorted({word for row in rows for word in row.split()})
    words += ["", "ÉCLAIR", "naïve", "日本語", "😀🎉", "\u00a0", "ﬁ"]
    words += ["don't", "x" * 80, "٣", "e\u0301", "\u200b", "\ufffd", "İ", "#!?", "[MASK]", "\x07"]
    chosen = random.Random(0)
    made = [" ".join(chosen.choices(words, k=chosen.choice([0, 1, 3, 8, 60]))) for _ in range(TEXTS - len(rows))]
    return rows + made


def exports(folder: Path) -> dict[str, Path]:
    """A PRADO, a BERT and a tagger in int8, by the names of their classes in Kotlin."""
    wanted = ExportRequest(quantize="int8", target=("tflite",), graphs=("bytes",), output=folder / "prado")
    export(wanted).raise_for_failures()
    words = [token for token in TOKENS[5:] if not token.startswith("##")]
    chosen = random.Random(1)
    rows = [chosen.choices(words, k=chosen.randint(2, 12)) for _ in range(60)]
    labelled = "".join(f"{' '.join(row)}\t{chosen.choice(['no', 'yes', 'perhaps'])}\n" for row in rows)
    tagged = "\n".join("".join(f"{word} {chosen.choice(['O', 'B-X', 'I-X'])}\n" for word in row) for row in rows)
    return {
        "IntentClassifier": folder / "prado",
        "BertClassifier": _tiny(folder, "bert", "classification", f"text\tlabel\n{labelled}"),
        "SlotTagger": _tiny(folder, "tagger", "token-classification", tagged),
    }


def _tiny(folder: Path, model: str, task: str, rows: str) -> Path:
    """An export of a tiny model with random weights, calibrated on a few rows."""
    changes = {"vocab_size": len(TOKENS), "max_position_embeddings": LENGTH}
    checkpoint = write_checkpoint(folder / f"{model} checkpoint", model, task, **changes)
    (checkpoint / "vocab.txt").write_bytes(VOCAB)
    data = folder / f"{model}{'.conll' if task == 'token-classification' else '.tsv'}"
    data.write_text(rows)
    report = export(
        ExportRequest(
            model=model,
            checkpoint=checkpoint,
            quantize="int8",
            target=("tflite",),
            eval_data=data,
            max_seq_len=LENGTH,
            output=folder / model,
        )
    )
    report.raise_for_failures()
    return folder / model


def opened(path: Path, folder: Path) -> Path:
    """A copy of the Activity that the driver can extend, to call what only Android calls."""
    copy = folder / path.name
    copy.write_text(path.read_text().replace("class MainActivity :", "open class MainActivity :"))
    return copy


def copy_models(folders: Iterable[Path], target: Path) -> None:
    """What the Gradle task copyModels copies, by the patterns that stand in it."""
    script = (jvm.PROJECT / "app" / "build.gradle.kts").read_text()
    patterns = [
        name
        for line in re.findall(r"^ +include\((.*)\)$", script, re.MULTILINE)
        for name in re.findall('"(.*?)"', line)
    ]
    assert "bytes_*.tflite" in patterns
    for folder in folders:
        (target / folder.name).mkdir(parents=True)
        for pattern in patterns:
            for path in folder.glob(pattern):
                shutil.copy(path, target / folder.name)


def resource_class() -> str:
    """The class R that Android's tools would make of the resources."""
    layout = ET.parse(RESOURCES / "layout" / "activity_main.xml")
    space = "{http://schemas.android.com/apk/res/android}"
    ids = [element.get(f"{space}id", "").removeprefix("@+id/") for element in layout.iter()]
    strings = [element.get("name") for element in ET.parse(RESOURCES / "values" / "strings.xml").iter("string")]
    parts = {"id": [name for name in ids if name], "string": strings, "layout": ["activity_main"]}
    inner = "".join(
        f"public static final class {part} {{ {fields} }}\n"
        for part, names in parts.items()
        if (fields := " ".join(f"public static final int {name} = {at};" for at, name in enumerate(names, 1)))
    )
    return f"package com.example.exportmobile;\npublic final class R {{\n{inner}}}\n"


def python_answers(folder: Path, rows: list[str]) -> tuple[list[str], list[float]]:
    """Labels and their logits from Python: LiteRT and the `tokenizers` package, texts as long as they are.

    Of a tagger the tags of each row, "-" for words that were not read, and no logits.
    """
    from ai_edge_litert.interpreter import Interpreter

    (file,) = folder.glob("*.tflite")
    run = Interpreter(str(file), num_threads=1).get_signature_runner("serving_default")
    inputs, (scale, zero_point) = run.get_input_details(), run.get_output_details()["logits"]["quantization"]
    labels = (folder / "labels.txt").read_text().splitlines()

    def logits(feed: dict[str, np.ndarray]) -> np.ndarray:
        found = run(**feed)["logits"][0].astype(np.float32)
        return (found - np.float32(zero_point)) * np.float32(scale) if scale else found

    if "text" in inputs:
        answers = [logits(_bytes(row, inputs["text"]["shape"])) for row in rows]
    else:
        document = json.loads((folder / "model.json").read_bytes())
        tokenizer, longest = Tokenizer.from_folder(folder), document["max_seq_len"]
        if document["task"] == "token-classification":
            return [_tags(tokenizer, row.split(), longest, inputs, logits, labels) for row in rows], []
        answers = [logits(_cut(tokenizer.encode([row], max_len=longest), inputs)) for row in rows]
    return [labels[int(answer.argmax())] for answer in answers], [float(answer.max()) for answer in answers]


def python_spans(folder: Path, pairs: list[tuple[str, str]]) -> list[str]:
    """Answers to questions in passages that fit into one row: the span with the largest sum of logits."""
    from ai_edge_litert.interpreter import Interpreter

    (file,) = folder.glob("*.tflite")
    run = Interpreter(str(file), num_threads=1).get_signature_runner("serving_default")
    tokenizer, found = Tokenizer.from_folder(folder), []
    for question, passage in pairs:
        asked, read = tokenizer.pieces([question, passage])
        row = tokenizer.encode([question], [passage], max_len=tokenizer.pair.special_count + len(asked.ids + read.ids))
        outputs = run(**_cut(row, run.get_input_details()))
        first = tokenizer.pair.start(len(asked.ids))
        starts, ends = (outputs[name][0][first : first + len(read.ids)] for name in ("start_logits", "end_logits"))
        sums = {(i, j): starts[i] + ends[j] for i in range(len(starts)) for j in range(i, min(len(ends), i + 30))}
        start, end = max(sums, key=sums.__getitem__)
        found.append(passage[read.spans[start][0] : read.spans[end][1]])
    return found


def _bytes(text: str, shape: np.ndarray) -> dict[str, np.ndarray]:
    row = np.zeros(shape, np.uint8)
    data = np.frombuffer(text.encode(), np.uint8)[: row.size]
    row[0, : data.size] = data
    return {"text": row}


def _cut(values: Mapping[str, np.ndarray], names: Iterable[str]) -> dict[str, np.ndarray]:
    """One row without its padding."""
    size = int(values["mask"].sum())
    return {name: values[name][:, :size] for name in names}


def _tags(
    tokenizer: Tokenizer,
    words: list[str],
    longest: int,
    names: Iterable[str],
    logits: Callable[[dict[str, np.ndarray]], np.ndarray],
    labels: list[str],
) -> str:
    if not words:
        return ""
    encoded = tokenizer.encode_words([words], max_len=longest)
    answer = logits(_cut(encoded.inputs, names))
    return " ".join("-" if place < 0 else labels[int(answer[place].argmax())] for place in encoded.first[0])


def java_answers(classes: list[Path], folder: Path, rows: list[str], scratch: Path) -> list[str]:
    (scratch / "texts").write_text("\n".join(rows))
    done = jvm.run(classes, "RunModels", "answers", folder, scratch / "texts", scratch / "out")
    assert done.returncode == 0, done.stderr
    return (scratch / "out").read_text().split("\n")[:-1]


def refusal(classes: list[Path], folder: Path, text: str, scratch: Path) -> str:
    """The one line with which the library refuses."""
    (scratch / "texts").write_text(text)
    done = jvm.run(classes, "RunModels", "answers", folder, scratch / "texts", scratch / "out")
    assert done.returncode == 2, done.stdout + done.stderr
    (line,) = [line for line in done.stderr.splitlines() if not line.startswith("INFO")]
    return line
