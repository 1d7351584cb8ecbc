"""The page of examples/web in Chromium: what it shows, and what it says when something is wrong."""

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from ai_edge_litert.interpreter import Interpreter

import models_tf
from exporters import DemoRequest, demo, write_site
from quantize.tflite.flatbuffer import read_model, write_model
from support import bytes_fronts, export_command, playwright, static_server

FILES = {"bytes_int8.tflite": "LiteRT.js", "bytes_int8.onnx": "ONNX Runtime Web"}
TEXTS = 200
BACKGROUND = ["evaluate", "getComputedStyle(document.body).backgroundColor"]
TYPED = "play some jazz by miles davis"
NONE = "\N{EN DASH}"
MARKUP = '<img src="x" onerror="alert(1)">'

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(playwright.missing()), reason=f"needs {playwright.missing()}"),
]


@pytest.fixture(scope="module")
def export(tmp_path_factory):
    """The bundled SNIPS model."""
    folder = tmp_path_factory.mktemp("web")
    flags = ("--model", "prado", "--task", "snips", "--quantize", "int8", "--graphs", "bytes,features")
    done = export_command.run(*flags, "--output", "snips", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "snips"


@pytest.fixture(scope="module")
def texts():
    table = Path(models_tf.__file__).parent / "bundled" / "snips" / "eval.tsv"
    with table.open(encoding="utf-8", newline="") as file:
        return [row["text"] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)][:TEXTS]


@pytest.fixture(scope="module")
def seen(export, texts, tmp_path_factory):
    """One visit of everything that a good folder is asked for; the tests look at its parts."""
    folder = tmp_path_factory.mktemp("seen")
    classified = [["classify", "models/snips", file, texts] for file in FILES]
    picture = {name: str(folder / f"{name}.png") for name in ("light", "dark", "phone")}
    with demo(DemoRequest(folders=(export,))) as page:
        common = {"address": page.address}
        visits = playwright.drive(
            folder,
            [
                {**common, "steps": [["ready"], *classified]},
                *(
                    {**common, "steps": [["ready"], ["chooseFile", file], ["shown"], ["type", TYPED], ["selfTest"]]}
                    for file in FILES
                ),
                {
                    **common,
                    "steps": [["ready"], ["type", TYPED], ["screenshot", picture["light"]], ["tabs", 5], BACKGROUND],
                },
                {
                    **common,
                    "scheme": "dark",
                    "steps": [["ready"], ["type", TYPED], ["screenshot", picture["dark"]], BACKGROUND],
                },
                {
                    **common,
                    "width": 360,
                    "height": 740,
                    "steps": [["ready"], ["type", TYPED], ["screenshot", picture["phone"]], ["files"]],
                },
            ],
        )
    named = dict(zip(("labels", *FILES, "light", "dark", "phone"), visits, strict=True))
    return {**named, "address": common["address"], "pictures": picture}


def logits_of(export, texts, file) -> np.ndarray:
    """In Python, in the runtime that the page's engine comes from."""
    given = [text.encode() for text in texts]
    if file.endswith(".tflite"):
        interpreter = Interpreter(str(export / file), num_threads=1)
        rows = bytes_fronts.rows(given, interpreter.get_input_details()[0]["shape"][1])
        return np.stack(list(bytes_fronts.run_tflite(interpreter, rows)))
    session = onnxruntime.InferenceSession(str(export / file))
    return np.stack([session.run(["logits"], {"text": np.frombuffer(text, np.uint8)[None]})[0][0] for text in given])


def labels_in(export) -> list[str]:
    return (export / "labels.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("file", FILES)
def test_labels_of_200_texts_are_those_of_python(file, seen, export, texts):
    found = seen["labels"]["answers"][1 + list(FILES).index(file)]["answers"]
    assert len(found) == len(texts) == TEXTS
    logits = logits_of(export, texts, file).astype(np.float64)
    labels = labels_in(export)
    assert [answer["label"] for answer in found] == [labels[best] for best in logits.argmax(1)]
    powers = np.exp(logits)
    # Of the int8 inside, a kernel of another processor may round one value to the step beside: 0.03 of a logit here.
    np.testing.assert_allclose(
        [answer["probability"] for answer in found], (powers / powers.sum(1, keepdims=True)).max(1), atol=0.02
    )


@pytest.mark.parametrize("file", FILES)
def test_typing_shows_labels_with_their_probabilities_size_and_time(file, seen):
    _, state, empty, shown, _ = seen[file]["answers"]
    assert state.startswith(f"{FILES[file]} is ready")
    assert [name for name, _ in empty["labels"]] == [NONE] * 5
    (first, share), *_ = shown["labels"]
    assert first == "PlayMusic"
    assert shown["summary"].startswith("PlayMusic, ")
    shares = [float(number.removesuffix(" %")) for _, number in shown["labels"]]
    assert shares == sorted(shares, reverse=True)
    assert float(share.removesuffix(" %")) > 50
    assert shown["facts"]["size"].endswith(" KB")
    assert all(" " in shown["facts"][name] for name in ("load", "first", "last", "median"))


@pytest.mark.parametrize("file", FILES)
def test_nothing_jumps_when_an_answer_comes(file, seen):
    _, _, empty, shown, _ = seen[file]["answers"]
    assert shown["height"] == empty["height"]


@pytest.mark.parametrize("file", FILES)
def test_the_self_test_of_a_good_folder_is_green(file, seen):
    found = seen[file]["answers"][-1]
    assert found["verdict"].startswith("Passed: 16 texts")
    assert found["kind"] == "line good"
    assert found["failures"] == []
    red, green, blue = (int(part) for part in found["color"].removeprefix("rgb(").rstrip(")").split(","))
    assert green > max(red, blue)


def test_no_visit_logs_an_error_or_asks_another_server(seen):
    for name in ("labels", *FILES, "light", "dark", "phone"):
        assert seen[name]["errors"] == []
        assert {url[: len(seen["address"])] for url in seen[name]["requests"] if not url.startswith("data:")} == {
            seen["address"]
        }


def test_the_page_fits_a_phone_and_all_is_reached_by_keyboard(seen):
    assert seen["phone"]["answers"][1]["overflow"] == 0
    order = [place for place in seen["light"]["answers"][-2] if place]
    assert order == ["test", "folder", "bytes_int8.tflite", "text"]  # it begins behind the text, where one typed


def test_pictures_are_taken_in_light_in_dark_and_as_wide_as_a_phone(seen):
    for name, path in seen["pictures"].items():
        header = Path(path).read_bytes()[:24]
        assert header.startswith(b"\x89PNG")
        assert int.from_bytes(header[16:20], "big") == (360 if name == "phone" else 1000)
    light, dark = (brightness(seen[name]["answers"][-1]) for name in ("light", "dark"))
    assert light > 230
    assert dark < 40


def brightness(color: str) -> float:
    """Of `rgb(1, 2, 3)`."""
    return sum(int(part) for part in color.removeprefix("rgb(").rstrip(")").split(",")) / 3


# Broken in one way each, on a plain server, in a sub-folder.


def copied(good: Path, site: Path, name: str) -> Path:
    shutil.copytree(good, site / "models" / name)
    return site / "models" / name


def damaged_json(folder: Path) -> None:
    (folder / "projection.json").write_text('{"format": ')


def other_format(folder: Path) -> None:
    (folder / "projection.json").write_text('{"format": "something/9"}')


def no_labels(folder: Path) -> None:
    (folder / "labels.txt").unlink()


def few_labels(folder: Path) -> None:
    (folder / "labels.txt").write_text("one\ntwo\n")


def other_signature(folder: Path) -> None:
    for suffix in (".tflite", ".onnx"):
        shutil.copy(folder / f"features_int8{suffix}", folder / f"bytes_int8{suffix}")


def cut_file(folder: Path) -> None:
    for file in FILES:
        (folder / file).write_bytes((folder / file).read_bytes()[:3000])


def only_features(folder: Path) -> None:
    document = json.loads((folder / "projection.json").read_text(encoding="utf-8"))
    document["files"] = {name: entry for name, entry in document["files"].items() if name.startswith("features")}
    (folder / "projection.json").write_text(json.dumps(document))


REFUSED = {
    damaged_json: r"projection.json must hold JSON. Received: ",
    other_format: 'projection.json must hold the format export-mobile-projection/1. Received: "something/9"',
    no_labels: "labels.txt could not be read. Received: 404",
    few_labels: "labels.txt must have 7 labels, one for each number of bytes_int8.tflite. Received: 2.",
    other_signature: "LiteRT.js does not take this file: Element type INT8 is not supported.",
    cut_file: "LiteRT.js does not take this file: ",
    only_features: "models/only_features has no file that a browser runs",
}
REFUSED_ONNX = {
    few_labels: "labels.txt must have 7 labels, one for each number of bytes_int8.onnx. Received: 2.",
    other_signature: "bytes_int8.onnx must take text as uint8 [1, bytes]. Received: features int8 [",
    cut_file: "ONNX Runtime Web does not take this file: ",
}


@pytest.fixture(scope="module")
def broken(export, tmp_path_factory):
    """By name of the damage: what the page says of the first file, and of the .onnx file."""
    root = tmp_path_factory.mktemp("broken")
    site = write_site(DemoRequest(folders=(export,), output=root / "some" / "place"))
    shutil.copytree(export, site / "models" / "snips", dirs_exist_ok=True)
    for damage in REFUSED:
        damage(copied(export, site, damage.__name__))
    wrong_weights(copied(export, site, "wrong_weights"))
    wrong_answer(copied(export, site, "wrong_answer"))
    several_labels(copied(export, site, "several"))
    (copied(export, site, "markup") / "labels.txt").write_text("\n".join([MARKUP] * 7))
    names = sorted((path.name for path in (site / "models").iterdir()), key=lambda name: (name != "snips", name))
    (site / "models.json").write_text(json.dumps([f"models/{name}" for name in names]))
    choose = "chooseFolder"
    with static_server.served(root) as address:
        page = {"address": f"{address}some/place/"}
        steps = [step for damage in REFUSED for step in ([choose, f"models/{damage.__name__}"], ["files"])]
        onnx = [
            step
            for damage in REFUSED_ONNX
            for step in ([choose, f"models/{damage.__name__}"], ["chooseFile", "bytes_int8.onnx"])
        ]
        half = [["fill", "a \ud83d b"], ["fill", "play \ud83c\udfb5"], ["fill", "x" * 300]]
        visits = playwright.drive(
            root,
            [
                {**page, "steps": [["ready"], *steps]},
                {**page, "steps": [["ready"], *onnx]},
                {**page, "steps": [["ready"], *half, [choose, "models/several"], ["fill", TYPED]]},
                {
                    **page,
                    "steps": [
                        ["ready"],
                        *(
                            step
                            for name in ("wrong_weights", "wrong_answer")
                            for step in ([choose, f"models/{name}"], ["selfTest"])
                        ),
                        [choose, "models/markup"],
                        ["type", TYPED],
                        ["evaluate", "document.querySelectorAll('main img').length"],
                    ],
                },
                {**page, "blocked": "@litertjs", "steps": [["ready"], ["chooseFile", "bytes_int8.onnx"]]},
                {**page, "blocked": "onnxruntime-web", "steps": [["ready"], ["chooseFile", "bytes_int8.onnx"]]},
                {**page, "blocked": "simd-threaded.wasm", "steps": [["ready"], ["chooseFile", "bytes_int8.onnx"]]},
                {**page, "blocked": "litert_wasm_internal.wasm", "steps": [["ready"]]},
                {**page, "blocked": "models.json", "steps": [["ready"]]},
            ],
        )
    names = ("files", "onnx", "texts", "tests", "no LiteRT.js", "no ORT", "no ORT wasm", "no LiteRT wasm", "no models")
    return {name: visit["answers"] for name, visit in zip(names, visits, strict=True)}


def several_labels(folder: Path) -> None:
    """The same logits, read as those of a model that gives each label its own yes or no."""
    document = json.loads((folder / "projection.json").read_text(encoding="utf-8"))
    (folder / "projection.json").write_text(json.dumps({**document, "multi_label": True}))


def wrong_weights(folder: Path) -> None:
    """The largest table of numbers is zeros."""
    model = read_model((folder / "bytes_int8.tflite").read_bytes())
    largest = max(model.buffers, key=lambda buffer: 0 if buffer.data is None else len(buffer.data))
    largest.data = np.zeros(len(largest.data), np.uint8)
    (folder / "bytes_int8.tflite").write_bytes(write_model(model))


def wrong_answer(folder: Path) -> None:
    """Of one text, as if another device had answered."""
    document = json.loads((folder / "examples.json").read_text(encoding="utf-8"))
    document["examples"][3]["outputs"]["bytes_int8.tflite"]["logits"][0] += 5
    (folder / "examples.json").write_text(json.dumps(document))


@pytest.mark.parametrize("damage", REFUSED, ids=lambda damage: damage.__name__)
def test_a_damaged_folder_is_one_line(damage, broken):
    line = broken["files"][1 + 2 * list(REFUSED).index(damage)]
    assert line.startswith(REFUSED[damage].replace("models/only_features", "only_features"))
    assert "\n" not in line


@pytest.mark.parametrize("damage", REFUSED_ONNX, ids=lambda damage: damage.__name__)
def test_a_damaged_onnx_file_is_one_line(damage, broken):
    line = broken["onnx"][2 + 2 * list(REFUSED_ONNX).index(damage)]
    assert line.startswith(REFUSED_ONNX[damage])
    assert "\n" not in line


def test_files_that_a_browser_cannot_run_are_listed_with_the_reason(broken):
    listed = broken["files"][2 + 2 * list(REFUSED).index(only_features)]
    assert [file["disabled"] for file in listed] == [True, True]
    assert all("takes features, which this page does not compute" in file["text"] for file in listed)


def test_half_a_surrogate_pair_is_one_line_and_a_whole_one_is_text(broken):
    half, whole, long = broken["texts"][1:4]
    assert half["problem"].startswith("Expected whole characters. Received: half of a surrogate pair at place 3.")
    assert [name for name, _ in half["labels"]] == [NONE] * 5
    assert whole["problem"] == ""
    assert whole["labels"][0][0] == "PlayMusic"
    assert long["problem"] == "Too long: the model reads the beginning (256 bytes)."


def test_each_of_several_labels_has_a_probability_of_its_own(broken, export):
    (logits,) = logits_of(export, [TYPED], "bytes_int8.tflite")
    own = sorted(zip(1 / (1 + np.exp(-logits)), labels_in(export), strict=True), reverse=True)
    assert sum(share for share, _ in own) > 1.2
    assert broken["texts"][-1]["labels"] == [[label, f"{100 * share:.1f} %"] for share, label in own[:5]]
    chosen = [label for share, label in own if share >= 0.5]
    assert [part.partition(",")[0] for part in broken["texts"][-1]["summary"].split("; ")] == chosen


def test_the_self_test_of_a_damaged_folder_is_red_and_names_the_text(broken, export):
    weights, answer = broken["tests"][2], broken["tests"][4]
    document = json.loads((export / "examples.json").read_text(encoding="utf-8"))
    for found in (weights, answer):
        assert found["kind"] == "line error"
        red, green, blue = (int(part) for part in found["color"].removeprefix("rgb(").rstrip(")").split(","))
        assert red > max(green, blue)
    assert len(weights["failures"]) > 8
    assert answer["verdict"].startswith("Failed: 1 of 16 texts")
    assert answer["failures"] == [f"“{document['examples'][3]['text']}”: outputs are off by 5.00"]


def test_labels_are_text_and_never_markup(broken):
    shown, images = broken["tests"][-2:]
    assert shown["labels"][0][0] == MARKUP
    assert images == 0


def test_without_one_engine_the_other_runs(broken):
    first, second = broken["no LiteRT.js"]
    assert first.startswith("LiteRT.js needs engines/@litertjs/core/dist and @litertjs/core/wasm beside this page.")
    assert "export-mobile setup web" in first
    assert second.startswith("ONNX Runtime Web is ready")


@pytest.mark.parametrize("name", ["no ORT", "no ORT wasm"])
def test_without_onnx_runtime_web_the_remedy_is_one_line(name, broken):
    assert broken[name][1].startswith("ONNX Runtime Web needs engines/onnxruntime-web/dist/ beside this page.")


def test_without_the_webassembly_of_litert_js_the_remedy_is_one_line(broken):
    assert broken["no LiteRT wasm"][0].startswith("LiteRT.js needs engines/@litertjs/core/dist")


def test_without_a_list_of_models_the_page_says_what_it_is(broken):
    assert broken["no models"][0].startswith("Expected models.json beside this page: a list of export folders")
