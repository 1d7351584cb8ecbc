"""`export-mobile compress` and `ablate`: complete folders, correct summaries, one line for bad input."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from exporters.commands import main as cli
from models_tf.checkpoints import encoder as checkpoint
from models_tf.encoder.network import Network
from support import squad_files
from support.checkpoints import write_checkpoint
from support.compress_cases import bert, outputs, stored
from support.export_command import everything_under, run
from support.random_encoders import relative_error, rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Checkpoints `bert`, `base` and `mobilebert`, and rows of words that are numbers."""
    place = tmp_path_factory.mktemp("compress")
    checkpoint.save(place / "bert", stored(bert()))
    checkpoint.save(place / "base", stored(bert("base"), "base"))
    write_checkpoint(place / "mobilebert")
    for head, name in (("tokens", "tagger"), ("questions", "questions"), ("regression", "regression")):
        checkpoint.save(place / name, stored(bert(head, max_positions=64), head))
    generator = random.Random(0)
    texts = [" ".join(str(generator.randrange(50)) for _ in range(generator.randrange(2, 9))) for _ in range(48)]
    labels = [generator.choice(("no", "yes", "perhaps")) for _ in texts]
    pairs = "".join(f"{text}\t{label}\n" for text, label in zip(texts, labels, strict=True))
    (place / "rows.tsv").write_text(f"text\tlabel\n{pairs}")
    (place / "texts.tsv").write_text("text\n" + "".join(f"{text}\n" for text in texts))
    tags = ["O", "B-X", "I-X", "O", "B-Y"]
    (place / "tagger.txt").write_text(
        "\n".join("".join(f"{word} {generator.choice(tags)}\n" for word in text.split()) for text in texts)
    )
    (place / "regression.tsv").write_text(
        "text\tscore\n" + "".join(f"{text}\t{generator.random():.3f}\n" for text in texts)
    )
    squad_files.write_json(place / "questions.json", squad_files.document())
    (place / "prado").mkdir()
    (place / "prado" / "config.json").write_text('{"format": 1, "model": "prado"}')
    return place


@pytest.fixture
def command(tmp_path, monkeypatch, capfd) -> Callable[..., str]:
    """Runs a command that must pass, in a fresh folder; returns what it printed."""

    def call(*arguments: object) -> str:
        monkeypatch.chdir(tmp_path)
        code = cli.main([str(argument) for argument in arguments])
        found = capfd.readouterr()
        assert code == 0, found.err
        return found.out

    return call


@pytest.fixture
def refused(tmp_path, monkeypatch, capfd) -> Callable[..., str]:
    """Runs a command that must be refused: exit code 2, one line, nothing written. Returns the line."""

    def check(*arguments: object) -> str:
        place = tmp_path / "fresh"
        place.mkdir(exist_ok=True)
        monkeypatch.chdir(place)
        code = cli.main([str(argument) for argument in arguments])
        found = capfd.readouterr()
        assert code == 2, found.err
        assert found.out == ""
        assert len(found.err.splitlines()) == 1, found.err
        assert everything_under(place) == []
        return found.err

    return check


def test_a_smaller_checkpoint_is_written_with_its_record(command, folder, tmp_path):
    printed = command(
        "compress", "--model", "bert", "--checkpoint", folder / "bert", "--data", folder / "rows.tsv", "--rows", "32",
        "--drop-layers", "top:1", "--prune-heads", "0.5", "--prune-ffn", "0.5", "--output", "small",
    )  # fmt: skip
    record = json.loads((tmp_path / "small" / "compression.json").read_text())
    before, after = record["parameters"]["before"], record["parameters"]["after"]
    assert f"parameters: {before:,} -> {after:,}" in printed
    assert "layers kept: 2 of 3 (0 1)" in printed
    assert "heads kept in each: 2 2\n" in printed
    assert "FFN neurons kept in each: 16 16\n" in printed
    assert "chosen on 32 rows of rows.tsv" in printed
    assert "export-mobile train --model bert --checkpoint small --teacher" in printed
    assert (record["rows"], record["layers"]["dropped"]) == (32, [2])
    found = checkpoint.load(tmp_path / "small")
    assert (found.config.num_layers, found.config.kept_heads, found.config.kept_ffn) == (2, (2, 2), (16, 16))
    assert found.labels == ["no", "yes", "perhaps"]
    assert found.trained
    assert "vocab.txt" in found.tokenizer_files
    assert after == sum(value.size for value in found.tensors.values())
    assert everything_under(tmp_path / "small") == ["compression.json", "config.json", "model.safetensors", "vocab.txt"]


def test_layers_alone_leave_a_checkpoint_that_transformers_reads(command, folder, tmp_path):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    command("compress", "--checkpoint", folder / "bert", "--drop-layers", "alternate:odd", "--output", "small")
    found, given = checkpoint.load(tmp_path / "small"), rows(5)
    theirs = transformers.BertForSequenceClassification.from_pretrained(tmp_path / "small").eval()
    with torch.no_grad():
        expected = theirs(
            input_ids=torch.tensor(given["ids"], dtype=torch.long),
            attention_mask=torch.tensor(given["mask"]),
            token_type_ids=torch.tensor(given["segments"], dtype=torch.long),
        ).logits.numpy()
    ours = outputs(Network(config=found.config, head=found.head, tensors=found.tensors), given)
    assert relative_error(ours, {"logits": expected}) <= 1e-5


def test_ghosts_make_a_ghostbert_that_can_be_trained(command, folder, tmp_path):
    printed = command(
        "compress", "--checkpoint", folder / "bert", "--data", folder / "rows.tsv", "--prune-heads", "0.5", "--ghosts",
        "--ghost-on", "outputs", "--output", "ghostly", "--json",
    )  # fmt: skip
    record = json.loads(printed)
    assert record["ghosts"] == {"heads": [2, 2, 2], "folds": [1, 1, 1], "on": "outputs"}
    assert record["model"] == checkpoint.load(tmp_path / "ghostly").model_name == "ghostbert"


def test_contribution_and_random_heads_work_without_labels(command, folder, tmp_path):
    for source in ("bert", "base"):
        printed = command(
            "compress", "--checkpoint", folder / source, "--data", folder / "texts.tsv", "--drop-layers",
            "contribution:2", "--prune-heads", "0.5", "--head-importance", "random", "--output", f"small-{source}",
        )  # fmt: skip
        record = json.loads((tmp_path / f"small-{source}" / "compression.json").read_text())
        assert len(record["layers"]["similarity"]) == 3
        assert len(record["layers"]["dropped"]) == 2
        # The command that it suggests must work: a base model has no answers to teach.
        assert ("--teacher" in printed) == (source == "bert")


@pytest.mark.parametrize("data", ["tagger.txt", "regression.tsv", "questions.json"])
def test_every_task_has_a_loss_to_choose_by_and_a_score_to_ablate(command, folder, tmp_path, data):
    source = folder / data.partition(".")[0]
    flags = ("--checkpoint", source, "--data", folder / data, "--max-seq-len", "40")
    command(
        "compress", *flags, "--prune-heads", "0.5", "--prune-ffn", "0.5", "--head-importance", "token", "--output", "a"
    )
    record = json.loads((tmp_path / "a" / "compression.json").read_text())
    assert checkpoint.load(tmp_path / "a").config.kept_heads == (2, 2, 2)
    # A wrong loss would be the same for all heads, or for all labels.
    scores = np.array(record["importance"]["heads"])
    assert (scores > 0).all()
    assert len(np.unique(scores)) == 12
    found = json.loads(command("ablate", *flags, "--what", "heads", "--json"))
    assert np.isfinite(found["without_head"]["change"]).all()


def test_force_replaces_and_repeats_exactly(command, folder, tmp_path):
    flags = ("compress", "--checkpoint", folder / "bert", "--data", folder / "rows.tsv", "--prune-ffn", "0.5")
    command(*flags, "--output", "small")
    first = (tmp_path / "small" / "model.safetensors").read_bytes()
    command(*flags, "--output", "small", "--force")
    assert (tmp_path / "small" / "model.safetensors").read_bytes() == first


def test_a_narrow_model_can_be_compressed_again(command, folder, tmp_path):
    command("compress", "--checkpoint", folder / "bert", "--remove-heads", "0:3;1:0,1", "--output", "a")
    command("compress", "--checkpoint", "a", "--remove-heads", "0:0", "--drop-layers", "2", "--output", "b")
    assert checkpoint.load(tmp_path / "b").config.kept_heads == (2, 2)
    expected = checkpoint.load(folder / "bert").tensors["layers.0.query.kernel"][:, 8:24]
    np.testing.assert_array_equal(checkpoint.load(tmp_path / "b").tensors["layers.0.query.kernel"], expected)


CASES: list[tuple[list[str], str]] = [
    (["--prune-heads", "1", "--data", "rows.tsv"], "the part that is kept must be in (0, 1]). Received: 1.0."),
    (["--prune-ffn", "-0.5", "--data", "rows.tsv"], "--prune-ffn is the share that is removed"),
    (["--prune-heads", "nan", "--data", "rows.tsv"], "Received: nan."),
    (["--prune-heads", "half"], "argument --prune-heads: invalid float value: 'half'"),
    (["--drop-layers", "top:3"], "must leave at least 1 of the model's 3 layers. Received: 3 to drop."),
    (["--drop-layers", "top:9"], "must leave at least 1 of the model's 3 layers. Received: 9 to drop."),
    (["--drop-layers", "0,1,2"], "must leave at least 1"),
    (["--drop-layers", "7"], "must name layers from 0 to 2. Received: 7."),
    (["--drop-layers", "middle:1"], "--drop-layers must be top:K, bottom:K"),
    (["--remove-heads", "0:4"], "must name heads from 0 to 3 of layer 0. Received: 4."),
    (["--remove-heads", "3:0"], "must name layers from 0 to 2. Received: 3."),
    (["--remove-heads", "0:0,1,2,3"], "must leave at least 1 of the 4 heads of layer 0"),
    (["--remove-heads", "heads"], 'such as "0:3,5;2:1"'),
    (["--prune-heads", "0.5", "--remove-heads", "0:1"], "not both"),
    (["--prune-heads", "0.5"], "--data FILE with labels is needed"),
    (["--drop-layers", "contribution:1"], "--data FILE is needed"),
    (["--prune-heads", "0.5", "--data", "texts.tsv"], "label"),
    (["--prune-heads", "0.5", "--data", "absent.tsv"], "--data must be a file. Received:"),
    (["--prune-heads", "0.5", "--data", "rows.tsv", "--rows", "0"], "--rows must be at least 1"),
    (["--prune-heads", "0.5", "--data", "rows.tsv", "--task", "regression"], "--task must be classification"),
    (["--prune-heads", "0.5", "--data", "rows.tsv", "--max-seq-len", "50"], "--max-seq-len must be 5 to 20"),
    (["--prune-heads", "0.5", "--min-heads", "9", "--data", "rows.tsv"], "--min-heads must be 1 to 4"),
    (["--ghosts", "0"], "argument --ghosts: must be from 1 to the number of heads, or nothing. Received: '0'"),
    (["--ghosts", "5"], "--ghosts must be at most the 4 heads. Received: 5."),
    (["--ghosts", "--ghost-kernel", "4"], "--ghost-kernel must be an odd number from 1 to 31. Received: 4."),
    (["--drop-layers", "1", "--ghost-on", "heads"], "--ghost-on needs --ghosts"),
    (["--drop-layers", "1", "--head-scope", "global"], "--head-scope needs --prune-heads"),
    (["--drop-layers", "1", "--min-heads", "2"], "--min-heads needs --prune-heads or --remove-heads"),
    (["--drop-layers", "1", "--data", "absent.tsv"], "--data must be a file. Received:"),
    (["--prune-heads", "0", "--data", "rows.tsv"], "Nothing to do: give --drop-layers"),
    ([], "Nothing to do: give --drop-layers"),
    (["--drop-layers", "1", "--model", "prado"], "--model must be one of bert, ghostbert"),
    (["--drop-layers", "1", "--model", "brt"], "Unknown model"),
    (["--drop-layers", "1", "--prune-head", "0.5"], "Did you mean --prune-heads?"),
]


@pytest.mark.parametrize(("flags", "words"), CASES, ids=[" ".join(flags) or "nothing" for flags, _ in CASES])
def test_bad_input_is_one_line_and_nothing_is_written(refused, folder, flags, words):
    given = [str(folder / flag) if flag.endswith(".tsv") else flag for flag in flags]
    assert words in refused("compress", "--checkpoint", folder / "bert", *given, "--output", "small")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("mobilebert", "Received: a mobilebert checkpoint."),
        ("prado", "Received: a config without `model_type`."),
        ("roberta", "Received: a roberta checkpoint."),
        ("absent", "no such folder"),
    ],
)
def test_a_checkpoint_that_is_not_bert_is_refused(refused, folder, tmp_path, name, words):
    source = folder / name
    if name == "roberta":
        source = tmp_path / "roberta"
        source.mkdir()
        document = json.loads((folder / "bert" / "config.json").read_text())
        (source / "config.json").write_text(json.dumps({**document, "model_type": "roberta"}))
    assert words in refused("compress", "--checkpoint", source, "--drop-layers", "top:1", "--output", "small")


def test_a_base_model_has_no_loss_to_choose_by(refused, folder):
    flags = ("--data", folder / "rows.tsv", "--prune-heads", "0.5", "--output", "small")
    assert "Received: a base model" in refused("compress", "--checkpoint", folder / "base", *flags)


def test_ghosts_are_not_added_twice(command, refused, folder, tmp_path):
    command("compress", "--checkpoint", folder / "bert", "--ghosts", "1", "--output", "ghostly")
    line = refused("compress", "--checkpoint", tmp_path / "ghostly", "--ghosts", "1", "--output", "again")
    assert "A model with ghosts can lose layers only" in line


def test_an_output_that_exists_or_is_the_checkpoint_is_refused(refused, folder, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").write_text("mine")
    flags = ("compress", "--checkpoint", folder / "bert", "--drop-layers", "top:1", "--output")
    assert "exists. Use --force to replace it" in refused(*flags, tmp_path / "there")
    assert everything_under(tmp_path / "there") == ["file"]
    assert "must not be --checkpoint itself" in refused(*flags, folder / "bert", "--force")
    assert checkpoint.load(folder / "bert").config.num_layers == 3


def test_ablation_agrees_with_compressed_checkpoints(command, folder, tmp_path):
    flags = ("--data", folder / "rows.tsv", "--json")
    whole = json.loads(
        command("ablate", "--checkpoint", folder / "bert", *flags, "--what", "all", "--output", "a.json")
    )
    assert json.loads((tmp_path / "a.json").read_text()) == whole
    assert whole["n"] == 48
    assert np.shape(whole["without_head"]["change"]) == np.shape(whole["head_alone"]["change"]) == (3, 4)
    for number, (removal, change) in enumerate(
        (
            (("--remove-heads", "1:2"), whole["without_head"]["change"][1][2]),
            (("--remove-heads", "2:0,1,2"), whole["head_alone"]["change"][2][3]),
            (("--drop-layers", "0"), whole["without_layer"]["change"][0]),
        )
    ):
        command("compress", "--checkpoint", folder / "bert", *removal, "--output", f"small{number}")
        small = json.loads(
            command("ablate", "--checkpoint", f"small{number}", *flags, "--what", "layers", "--rows", "48")
        )
        assert small["score"] - whole["score"] == pytest.approx(change, abs=1e-9)


def test_ablation_prints_tables_and_takes_other_token_models(command, folder):
    printed = command("ablate", "--checkpoint", folder / "bert", "--data", folder / "rows.tsv", "--rows", "20")
    assert "accuracy of the whole model:" in printed
    assert "(n = 20," in printed
    assert "change in points without one head" in printed
    assert "change in points without one layer" in printed
    printed = command("ablate", "--checkpoint", folder / "mobilebert", "--data", folder / "rows.tsv")
    assert "change in points without one head" in printed


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--data", "texts.tsv"], "label"),
        (["--data", "rows.tsv", "--rows", "0"], "--rows must be at least 1"),
        (["--data", "rows.tsv", "--output", "absent/a.json"], "--output must lie in a folder that exists"),
        ([], "the following arguments are required: --data"),
    ],
)
def test_bad_input_of_ablation_is_one_line(refused, folder, flags, words):
    given = [str(folder / flag) if flag.endswith(".tsv") else flag for flag in flags]
    assert words in refused("ablate", "--checkpoint", folder / "bert", *given)
    assert "Received: a base model" in refused("ablate", "--checkpoint", folder / "base", "--data", folder / "rows.tsv")


def test_the_command_itself_says_one_line_and_writes_nothing(folder, tmp_path):
    (tmp_path / "fresh").mkdir()
    flags = ("--checkpoint", folder / "bert", "--drop-layers", "top:3", "--output", "small")
    done = run("compress", *flags, cwd=tmp_path / "fresh")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert everything_under(tmp_path / "fresh") == []
