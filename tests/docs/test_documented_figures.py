"""Accuracy figures in the docs are those that the benchmark wrote."""

import runpy
from pathlib import Path

import pytest

from support.pages import prose, results

ROOT = Path(__file__).parents[2]
RESULTS = results("accuracy")


@pytest.mark.parametrize("page", ["README.md", "docs/prado.md"])
@pytest.mark.parametrize("name", sorted(RESULTS))
def test_a_page_shows_the_measured_accuracy_rows_and_bytes(page: str, name: str) -> None:
    result = RESULTS[name]
    (row,) = [
        line
        for line in (ROOT / page).read_text(encoding="utf-8").splitlines()
        if line.startswith("|") and f"{result['largest_size_bytes']:,}" in line
    ]
    for figure in (
        f"**{result['int8_mean']:.1f}** ({result['int8_lowest']:.1f} to {result['int8_highest']:.1f}",
        f"{result['rows']:,}",
        f"{result['float_mean']:.1f}",
    ):
        assert figure in row


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_each_figure_has_three_seeds_and_a_file_of_at_most_200_kb(name: str) -> None:
    runs = RESULTS[name]["runs"]
    assert len({run["seed"] for run in runs}) == 3
    assert all(run["size_bytes"] <= 204_800 for run in runs)
    assert all(run["float"] - run["int8"] <= 0.5 for run in runs)


FORMATS = results("mobilebert_formats")
REWRITES = results("rewrites")


def rows_of(page: str, *beginning: str) -> list[str]:
    start = "| " + " | ".join(beginning) + " |"
    return [line for line in (ROOT / page).read_text(encoding="utf-8").splitlines() if line.startswith(start)]


@pytest.mark.parametrize("file", FORMATS["files"], ids=lambda file: f"{file['target']}-{file['recipe']}")
def test_the_table_of_formats_shows_what_was_measured(file: dict) -> None:
    (row,) = rows_of("docs/mobilebert.md", file["target"], file["recipe"])
    for figure in (
        f"{file['size_bytes']:,}",
        f"{file['max_abs']:.2g}",
        f"{100 * file['argmax_agreement']:.1f} %",
        f"{file['accuracy']:.2f} ± {file['standard_error']:.2f}",
        f"{file['latency_ratio']['median']:.2f} (",
    ):
        assert figure in row


def test_static_int8_loses_at_most_one_point_in_both_formats() -> None:
    drops = [file["drop"] for file in FORMATS["files"] if file["recipe"] == "int8"]
    assert len(drops) == 2
    assert max(drops) <= 1.0


@pytest.mark.parametrize("part", ["together", "single"])
def test_the_table_of_rewrites_shows_what_was_measured(part: str) -> None:
    measured = REWRITES[part]
    for name, result in measured["variants"].items():
        if name == "none":
            continue
        (row,) = rows_of("docs/mobilebert.md", name, str(measured["layers"]))
        assert f"| {result['litert']['ratio']:.3f} (" in row
        assert f"| {result['onnxruntime']['ratio']:.3f} (" in row


PEERS = results("peers")
PEER_TABLES = runpy.run_path(str(ROOT / "benchmarks" / "peer_table.py"))


@pytest.mark.parametrize(("page", "tables"), [("performance.md", ["files", "ratios", "floor"]), ("bert.md", ["int8"])])
def test_the_tables_of_peers_show_what_was_measured(page: str, tables: list[str]) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert all(f"<!-- peers: {name} -->" in text for name in tables)
    assert PEER_TABLES["fill"](text, PEERS) == text


def test_the_pages_on_peers_name_rows_standard_error_and_processor() -> None:
    bert, performance = prose("docs/bert.md"), prose("docs/performance.md")
    (base,) = [file for file in PEERS["files"] if (file["tool"], file["runtime"]) == ("PyTorch", "PyTorch")]
    assert f"the {PEERS['rows']} rows of SST-2's dev set" in bert
    assert f"the standard error {base['standard_error']:.2f} points" in bert
    for page in (bert, performance):
        assert f"{PEERS['calibration_rows']} rows of the training data calibrate" in page
    assert PEERS["command"].partition(" --result")[0] in performance
    assert f"quartiles of {PEERS['latency']['rounds']['lengths']} interleaved rounds" in performance
    vnni = any("vnni" in flag for flag in PEERS["latency"]["flags"])
    assert ("AVX2 and no VNNI" in performance, "without VNNI" in bert) == (not vnni, not vnni)


def test_int8_of_bert_keeps_779_rows_in_24_million_bytes_in_both_formats() -> None:
    ours = [file for file in PEERS["files"] if (file["tool"], file["recipe"]) == ("export-mobile", "int8")]
    assert {file["runtime"] for file in ours} == {"LiteRT", "ONNX Runtime"}
    assert all(file["right"] >= 779 and file["size_bytes"] <= 24_000_000 for file in ours)


ARM = results("arm_instructions")


@pytest.mark.parametrize("name", ARM["instructions"])
def test_the_table_of_arm_instructions_shows_what_was_counted(name: str) -> None:
    count, ending = ARM["instructions"][name], name.rpartition(".")[2]
    ratio = count / ARM["instructions"][f"model_float32.{ending}"]
    assert rows_of("docs/performance.md", f"`{name}`", f"{count / 1e6:.1f}", f"{ratio:.2f}")
    assert ARM["command"] in prose("docs/performance.md")


RECIPES = results("minilm_recipes")
LOADED = {file["name"]: file for file in results("minilm_recipes_bench")["files"]}


@pytest.mark.parametrize("file", RECIPES["files"], ids=lambda file: f"{file['target']}-{file['recipe']}")
def test_the_table_of_recipes_shows_what_was_measured(file: dict) -> None:
    (row,) = rows_of("docs/performance.md", file["target"], file["recipe"])
    ratio, loaded = file["latency_ratio"], LOADED[f"model_{file['recipe'].replace('-', '_')}.{file['target']}"]
    for figure in (
        f"| {file['size_bytes']:,} | {file['right']} | {file['same']} | {file['mean_abs']:.3f} |",
        f"| {ratio['median']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f}) |",
        f"| {loaded['load_cpu_ms']:.0f} | {loaded['peak_bytes'] / 1e6:.0f} | {file['min_runtime']} |",
    ):
        assert figure in row


def test_int4_halves_int8_dynamic_and_loses_less_than_a_standard_error() -> None:
    found = {(file["target"], file["recipe"]): file for file in RECIPES["files"]}
    for target in ("tflite", "onnx"):
        int4, int8, floats = (found[target, recipe] for recipe in ("int4", "int8-dynamic", "float32"))
        assert int4["size_bytes"] < 0.56 * int8["size_bytes"]
        assert floats["accuracy"] - int4["accuracy"] <= floats["standard_error"]


FRONTIER = results("frontier")["models"]
PRUNING = results("pruning")["models"]


@pytest.mark.parametrize(
    ("page", "model"),
    [("docs/ghostbert.md", model) for model in FRONTIER.values()]
    + [("docs/compression.md", model) for model in PRUNING.values()],
    ids=[*FRONTIER, *PRUNING],
)
def test_the_tables_of_compressed_models_show_what_was_measured(page: str, model: dict) -> None:
    figures = [f"| {model['parameters']:,} |", f"| {model['float_right']} ({model['float_accuracy']:.1f}) |"]
    figures += [f"| {model['tflite']['right']} | {model['onnx']['right']} | {model['tflite']['size_bytes']:,} |"]
    for target in ("tflite", "onnx"):
        ratio = model[target]["latency_ratio"]
        figures.append(f"| {ratio['median']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f}) |")
    if "float_right_before_recovery" in model:
        figures.append(f"| {model['float_right_before_recovery']} |")
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    assert sum(all(figure in line for figure in figures) for line in lines) == 1


def test_a_compressed_model_is_smaller_and_faster_where_the_docs_say_so() -> None:
    for width, wider in (("width-9", "width-12"), ("width-6", "width-9"), ("width-3", "width-6")):
        for target in ("tflite", "onnx"):
            assert FRONTIER[width][target]["size_bytes"] < FRONTIER[wider][target]["size_bytes"]
            assert FRONTIER[width][target]["latency_ratio"]["high"] < FRONTIER[wider][target]["latency_ratio"]["low"]


ALBERT_SIZES = results("albert_sizes")


@pytest.mark.parametrize("file", ALBERT_SIZES["files"], ids=lambda file: f"{file['target']}-{file['recipe']}")
def test_the_table_of_albert_shows_the_bytes_that_were_written(file: dict) -> None:
    (row,) = rows_of("docs/albert.md", file["target"], file["recipe"])
    assert f"| {file['size_bytes']:,} |" in row
    page = prose("docs/albert.md")
    assert f"{ALBERT_SIZES['parameters']:,} parameters" in page
    assert ALBERT_SIZES["command"] in page


TAGGER = results("tagger")
TAGGER_SETS = {"snips_slots": "SNIPS slots", "wnut17": "WNUT-17", "ud_ewt": "UD-EWT"}


@pytest.mark.parametrize("name", TAGGER_SETS)
def test_the_tables_of_taggers_show_what_was_measured(name: str) -> None:
    for model, result in TAGGER["tasks"][name]["models"].items():
        if model == "teacher, float32":
            continue
        scores, times = [*rows_of("docs/tagger.md", TAGGER_SETS[name], model), ""][:2]
        figures = [
            f"| {result['parameters']:,} |",
            f"| {result['float']['value']:.2f} ± {result['float']['standard_error']:.2f} |",
        ]
        for target in ("tflite", "onnx"):
            if target in result:
                figures.append(f"| {result[target]['size_bytes']:,} |")
            if "value" in result.get(target, {}):
                figures.append(f"| {result[target]['value']:.2f} ± {result[target]['standard_error']:.2f} |")
        if "whole_vocabulary" in result:
            whole = result["whole_vocabulary"]
            figures.append(f"| {whole['value']:.2f} ± {whole['standard_error']:.2f} |")
        assert all(figure in scores for figure in figures), (model, figures)
        for key in ("ratio_to_int8_teacher", "ratio_to_float32_teacher") if model.startswith("student") else ():
            for target in ("tflite", "onnx"):
                ratio = result[target][key]
                assert f"| {ratio['median']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f}) |" in times


def test_a_pruned_vocabulary_changed_no_tag_of_the_texts_that_it_was_pruned_to() -> None:
    for result in TAGGER["tasks"].values():
        for part in ("train", "dev"):
            found = result["vocabulary"][part]
            assert (found["same_pieces"], found["same_tag"]) == (found["sentences"], found["words"])


def test_the_tagger_of_snips_slots_is_within_2_points_of_its_teacher_at_a_third_of_its_time() -> None:
    models = TAGGER["tasks"]["snips_slots"]["models"]
    for target in ("tflite", "onnx"):
        student = models["student, seed 0"][target]
        assert models["teacher"]["float"]["value"] - student["value"] <= 2
        assert student["ratio_to_int8_teacher"]["median"] <= 1 / 3


EMBEDDING = results("embedding")


@pytest.mark.parametrize("name", EMBEDDING["models"])
def test_the_table_of_smaller_embeddings_shows_what_was_measured(name: str) -> None:
    model = EMBEDDING["models"][name]
    files = [model[recipe][target] for recipe in ("float32", "int8") for target in ("tflite", "onnx")]
    figures = [f"| {model['parameters']:,} |", f"| {model['float_right']} ({model['float_accuracy']:.1f}) |"]
    figures += [f"| {files[2]['right']} | {files[3]['right']} |", *(f"| {file['size_bytes']:,} |" for file in files)]
    lines = (ROOT / "docs" / "compression.md").read_text(encoding="utf-8").splitlines()
    assert sum(all(figure in line for figure in figures) for line in lines) == 1
    assert files[0]["right"] == files[1]["right"] == model["float_right"]


def test_the_errors_of_narrow_tables_in_int8_are_those_that_were_measured() -> None:
    errors = EMBEDDING["int8_error_by_share_in_table"]
    assert min(errors, key=errors.__getitem__) == "0.5"
    text = prose("docs/compression.md")
    for share in ("0.0", "0.5", "1.0", "whole table"):
        assert f"{errors[share]:.1e}".replace("e-0", "e-") in text
