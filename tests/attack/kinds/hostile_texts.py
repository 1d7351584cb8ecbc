"""Hostile texts in every place that is printed or rendered: labels, rows, names of tensors and files, reports."""

import json
import random
import shutil
from pathlib import Path
from typing import Any

from tests.attack import markup, materials
from tests.attack.case import ADDED, Case
from tests.attack.command import Finished
from tests.attack.outcome import Kind, Outcome


def looks(case: Case, finished: Finished) -> str:
    """Whatever was written or said. A result on stdout is looked at as what it was asked for."""
    stdout = finished.stdout.decode(errors="surrogateescape")
    problem = markup.annotations(stdout + finished.stderr.decode(errors="surrogateescape"))
    if stdout.startswith("<!"):
        problem = problem or markup.html(stdout)
    for place in (case.output, case.folder / "written"):
        problem = problem or (markup.folder(place) if place.is_dir() else "")
    return problem and f"a hostile text is at work: {problem}"


def _text(rng: random.Random) -> str:
    return rng.choice(markup.TEXTS)


def _line(rng: random.Random) -> str:
    """One that a label or a cell can be: mostly printable, since others are refused."""
    line = " ".join(_text(rng).replace("\0", "").split())
    return line if rng.random() < 0.05 else "".join(sign for sign in line if sign.isprintable()) or markup.WORD


def _name(rng: random.Random) -> str:
    return _text(rng).replace("/", "").replace("\0", "")[:80]


def reports(rng: random.Random, folder: Path) -> Outcome:
    """Strings in report.json, and the folder's name, through compare in all its forms."""
    case = Case.of("hostile texts: reports", folder)
    (case.folder / "written").mkdir()
    export = materials.copy("export-bert", case.inputs, _name(rng) if rng.random() < 0.5 else "export")
    path = export / "report.json"
    path.write_text(json.dumps(_sprinkled(rng, json.loads(path.read_bytes()), rng.choice((0.02, 0.1, 0.3)))))
    form = rng.choice(("table", "markdown", "html", "json"))
    ending = {"markdown": "md", "html": "html"}.get(form, "txt")
    output = ["--output", str(case.folder / "written" / f"page.{ending}")] if rng.random() < 0.9 else []
    return case.run(form, ["compare", "--format", form, *output, "--", str(export)], problems=[looks])


def _sprinkled(rng: random.Random, document: Any, share: float) -> Any:
    """The same with hostile strings; few keys too."""
    if isinstance(document, dict):
        return {
            (_text(rng) if rng.random() < share / 20 else key): _sprinkled(rng, value, share)
            for key, value in document.items()
        }
    if isinstance(document, list):
        return [_sprinkled(rng, value, share) for value in document]
    return _text(rng) if isinstance(document, str) and rng.random() < share else document


def model_names(rng: random.Random, folder: Path) -> Outcome:
    """Names of tensors, operators, producers and metadata in model files, through inspect."""
    case = Case.of("hostile texts: model files", folder)
    if rng.random() < 0.5:
        import onnx

        path = materials.copy("export-bert/model_int8.onnx", case.inputs, "model.onnx")
        model = onnx.ModelProto.FromString(path.read_bytes())
        model.producer_name, model.doc_string, model.graph.name = _text(rng), _text(rng), _text(rng)
        model.metadata_props.add(key=_text(rng), value=_text(rng))
        old, new = rng.choice([node.output[0] for node in model.graph.node]), _text(rng)
        if rng.random() < 0.3:
            old = rng.choice([value.name for value in [*model.graph.input, *model.graph.output]])
        for node in model.graph.node:
            node.input[:] = [new if name == old else name for name in node.input]
            node.output[:] = [new if name == old else name for name in node.output]
        for value in [*model.graph.input, *model.graph.output, *model.graph.value_info]:
            value.name = new if value.name == old else value.name
        node = rng.choice(model.graph.node)
        node.name = _text(rng)
        if rng.random() < 0.3:
            node.domain, node.op_type = _text(rng), _text(rng)
        path.write_bytes(model.SerializeToString())
    else:
        import flatbuffers

        from quantize.tflite.graph import schema

        path = materials.copy("export-bert/model_int8.tflite", case.inputs, "model.tflite")
        table = schema.ModelT.InitFromObj(schema.Model.GetRootAs(path.read_bytes(), 0))
        table.description = _text(rng)
        graph = table.subgraphs[0]
        graph.name = _text(rng)
        for tensor in rng.sample(graph.tensors, 3):
            tensor.name = _text(rng)
        for entry in table.signatureDefs or []:
            if rng.random() < 0.3:
                entry.signatureKey = _text(rng)
            rng.choice(entry.inputs).name = _text(rng)
        if rng.random() < 0.5:
            code = rng.choice(table.operatorCodes)
            code.builtinCode, code.deprecatedBuiltinCode, code.customCode = 32, 32, _text(rng)
        builder = flatbuffers.Builder(1 << 16)
        builder.Finish(table.Pack(builder), b"TFL3")
        path.write_bytes(bytes(builder.Output()))
    arguments = ["inspect", str(path), *(["--json"] if rng.random() < 0.3 else [])]
    if rng.random() < 0.7:
        arguments += ["--no-runtime"]
    return case.run(path.name, arguments, problems=[looks])


def folders(rng: random.Random, folder: Path) -> Outcome:
    """Labels and settings of an export folder, through demo, android, check with JUnit and annotations, verify."""
    case = Case.of("hostile texts: export folders", folder)
    (case.folder / "written").mkdir()
    source = rng.choice(("export-bert", "export-prado"))
    export = materials.copy(source, case.inputs, _name(rng) if rng.random() < 0.3 else "export")
    labels = [_line(rng) + str(place) if rng.random() < 0.7 else label for place, label in enumerate(materials.LABELS)]
    for path in export.iterdir():
        if path.suffix == ".json" and path.name not in ("manifest.json", "tokenizer.json"):
            document = _relabelled(json.loads(path.read_bytes()), dict(zip(materials.LABELS, labels, strict=True)))
            path.write_text(json.dumps(_sprinkled(rng, document, rng.choice((0, 0, 0.02)))))
    (export / "labels.txt").write_text("".join(f"{label}\n" for label in labels), encoding="utf-8")
    rows = case.inputs / "rows.tsv"
    cells = [(_line(rng) if rng.random() < 0.3 else text, rng.choice(labels)) for text in materials.TEXTS]
    rows.write_text("text\tlabel\n" + "".join(f"{a}\t{b}\n" for a, b in cells), encoding="utf-8")
    name = rng.choices(("demo", "android", "check", "verify"), (4, 4, 2, 2))[0]
    model = rng.choice(sorted(path for path in export.iterdir() if path.suffix in (".onnx", ".tflite")))
    junit = ["--junit", str(case.folder / "written" / "junit.xml"), "--github"]
    arguments = {
        "demo": ["demo", "--output", str(case.output), "--", str(export)],
        "android": ["android", "--package", "a.b", "--output", str(case.output), "--", str(export)],
        "check": ["check", "--data", str(rows), *junit, "--", str(model)],
        "verify": ["verify", "--", str(export)],
    }[name]
    summary = {"GITHUB_STEP_SUMMARY": str(case.folder / "written" / "summary.md"), "GITHUB_ACTIONS": "true"}
    return case.run(f"{name}: {source}", arguments, environment=summary, problems=[looks], app=name == "android")


def _relabelled(document: Any, labels: dict[str, str]) -> Any:
    if isinstance(document, dict):
        return {labels.get(key, key): _relabelled(value, labels) for key, value in document.items()}
    if isinstance(document, list):
        return [_relabelled(value, labels) for value in document]
    return labels.get(document, document) if isinstance(document, str) else document


def exports(rng: random.Random, folder: Path) -> Outcome:
    """Labels, rows, columns, names of folders and flags through a whole export: report, model card, examples."""
    case = Case.of("hostile texts: exports", folder)
    model = rng.choice(("prado", "bert"))
    place = materials.copy(model, case.inputs, _name(rng) if rng.random() < 0.4 else "checkpoint")
    labels = [
        f"{_line(rng)} {number}" if rng.random() < 0.7 else label for number, label in enumerate(materials.LABELS)
    ]
    if model == "prado":
        (place / "labels.txt").write_text("".join(f"{label}\n" for label in labels), encoding="utf-8")
    else:
        config = json.loads((place / "config.json").read_bytes())
        config["id2label"] = {str(number): label for number, label in enumerate(labels)}
        config["label2id"] = {label: number for number, label in enumerate(labels)}
        (place / "config.json").write_text(json.dumps(config))
    column = _line(rng) if rng.random() < 0.5 else "text"
    cells = [(_line(rng) if rng.random() < 0.5 else text, rng.choice(labels)) for text in materials.TEXTS * 3]
    rows = case.inputs / (f"{_name(rng)}.tsv" if rng.random() < 0.4 else "rows.tsv")
    rows.write_text(f"{column}\tlabel\n" + "".join(f"{a}\t{b}\n" for a, b in cells), encoding="utf-8")
    arguments = [f"--checkpoint={place}", f"--eval-data={rows}", f"--text-column={column}", "--label-column=label"]
    arguments += [f"--output={case.output}", "--quantize", "float32", "--target", rng.choice(("onnx", "tflite"))]
    if model == "prado":
        arguments += ["--graphs", "features"]
    if rng.random() < 0.3:
        arguments += [f"--license={_line(rng)}"]
    return case.run(model, arguments, problems=[looks])


def manifests(rng: random.Random, folder: Path) -> Outcome:
    """Names in a manifest, and files with such names, through verify and clean."""
    case = Case.of("hostile texts: manifests", folder)
    export = materials.copy("export-tagger", case.inputs, "export")
    path = export / "manifest.json"
    document = json.loads(path.read_bytes())
    name = _name(rng)
    document["files"][name] = {"size_bytes": 1, "sha256": "0" * 64}
    if rng.random() < 0.3:
        document["command"] = _text(rng)
    path.write_text(json.dumps(document))
    if rng.random() < 0.7 and name not in ("", ".", ".."):
        (export / name).write_text("x")
    arguments = ["verify", str(export), *(["--json"] if rng.random() < 0.3 else [])]
    if rng.random() < 0.3:
        left = case.inputs / f".{_name(rng)}.partial-1"
        shutil.copytree(export, left)
        arguments = ["clean", str(case.inputs), "--older-than", "0m"]
    return case.run(arguments[0], arguments, problems=[looks], inputs=ADDED)


KINDS: dict[str, Kind] = {
    "hostile reports": reports,
    "hostile models": model_names,
    "hostile folders": folders,
    "hostile exports": exports,
    "hostile manifests": manifests,
}
SHARES = {
    "hostile reports": 2,
    "hostile models": 2,
    "hostile folders": 2,
    "hostile exports": 0.3,
    "hostile manifests": 1,
}
