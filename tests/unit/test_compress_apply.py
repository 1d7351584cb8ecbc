"""A whole compression as values: the order of its steps, what the record says, what is refused; and ablation."""

import json

import numpy as np
import pytest

from exporters.ablation.text import to_text
from models_tf.checkpoints import encoder as checkpoint
from models_tf.compress import heads, layers, width
from models_tf.compress.ablation import ablate
from models_tf.compress.apply import check, compress
from models_tf.compress.rows import batches, draw
from models_tf.compress.settings import Compression, parse_heads
from models_tf.encoder.network import Network
from models_tf.errors import InputError
from models_tf.spec import LOGITS
from models_tf.tasks.classification import ClassificationRows
from support.network_runs import outputs, relative_error, rows
from support.tiny_models import LABELS, bert, stored


def labelled(count: int = 40) -> ClassificationRows:
    targets = np.random.default_rng(3).integers(0, 3, count).astype(np.int32)
    return ClassificationRows(
        inputs=rows(count),
        keys=[str(number) for number in range(count)],
        source="rows",
        labels=tuple(LABELS["classification"]),
        targets={LOGITS: targets},
    )


def network_of(found: checkpoint.EncoderCheckpoint) -> Network:
    return Network(config=found.config, head=found.head, tensors=found.tensors)


def test_what_the_record_names_is_what_the_smaller_model_holds(tmp_path):
    whole = bert(num_layers=4)
    settings = Compression(drop_layers="top:1", prune_heads=0.4, head_scope="global", prune_ffn=0.5)
    made = compress(stored(whole), settings, labelled())
    record = json.loads(json.dumps(made.record))
    assert record["layers"] == {"kept": [0, 1, 2], "dropped": [3]}
    assert sum(map(len, record["heads"]["kept"])) == 7  # of 12
    assert [len(kept) for kept in record["neurons"]["kept"]] == [16, 16, 16]
    assert record["rows"] == 40
    by_hand = layers.drop_layers(whole, record["layers"]["dropped"])
    by_hand = width.keep_neurons(width.keep_heads(by_hand, record["heads"]["kept"]), record["neurons"]["kept"])
    assert relative_error(outputs(network_of(made.checkpoint), rows(5)), outputs(by_hand, rows(5))) == 0.0
    # The heads that went are the least important ones of all, but for a layer's last.
    scores, kept = record["importance"]["heads"], record["heads"]["kept"]
    assert kept == heads.choose_heads([np.array(one) for one in scores], share=0.4, scope="global")
    assert record["parameters"]["after"] == sum(value.size for value in by_hand.tensors.values())
    assert record["parameters"]["before"] > record["parameters"]["after"]
    checkpoint.save(tmp_path / "m", made.checkpoint)
    again = checkpoint.load(tmp_path / "m")
    assert relative_error(outputs(network_of(again), rows(5)), outputs(by_hand, rows(5))) == 0.0


def test_importance_is_that_of_the_model_without_the_dropped_layers():
    from models_tf.compress.importance import measure
    from models_tf.compress.rows import loss_of

    whole = bert(num_layers=4)
    made = compress(stored(whole), Compression(drop_layers="0,2", prune_heads=0.5), labelled())
    left = layers.drop_layers(whole, [0, 2])
    expected = measure(left, batches(labelled()), loss_of("classification"))
    np.testing.assert_allclose(made.record["importance"]["heads"], expected.heads, rtol=1e-4)


def test_ghosts_come_last_and_leave_the_function_as_it_was():
    start = stored(bert())
    plain = compress(start, Compression(prune_heads=0.5, prune_ffn=0.5), labelled())
    ghostly = compress(start, Compression(prune_heads=0.5, prune_ffn=0.5, ghosts=0), labelled())
    config = ghostly.checkpoint.config
    assert (ghostly.checkpoint.model_name, plain.checkpoint.model_name) == ("ghostbert", "bert")
    assert (config.kept_heads, config.kept_ffn) == ((2, 2, 2), (16, 16, 16))
    assert (config.ghost_heads, config.ghost_folds) == ((2, 2, 2), (2, 2, 2))
    found, expected = (outputs(network_of(made.checkpoint), rows(5)) for made in (ghostly, plain))
    assert relative_error(found, expected) <= 1e-6
    assert compress(start, Compression(ghosts=3)).checkpoint.config.ghost_heads == (3, 3, 3)


def test_the_ffn_of_ghosts_is_cut_to_whole_folds():
    made = compress(stored(bert()), Compression(prune_ffn=0.4, ghosts=1), labelled())
    assert made.checkpoint.config.kept_ffn == (16, 16, 16)  # 19.2 is nearest to 2 folds of 8
    wide = stored(bert(intermediate_size=64))
    assert compress(wide, Compression(prune_ffn=0.4), labelled()).checkpoint.config.kept_ffn == (32, 32, 32)
    assert compress(wide, Compression(prune_ffn=0.35, ghosts=1), labelled()).checkpoint.config.kept_ffn == (48, 48, 48)


def test_random_and_listed_heads_need_no_rows_and_follow_seed_and_list():
    start = stored(bert())
    one, same, other = (
        compress(start, Compression(prune_heads=0.5, head_importance="random", seed=seed)).record for seed in (1, 1, 2)
    )
    assert one["heads"] == same["heads"] != other["heads"]
    assert "importance" not in one
    assert one["rows"] == 0
    listed = compress(start, Compression(drop_layers="1", remove_heads=parse_heads("0:3,1;2:0")))
    assert listed.record["heads"]["kept"] == [[0, 2], [1, 2, 3]]


def test_shares_that_round_to_nothing_are_said():
    few = {"prune_heads": 0.1, "head_importance": "random"}
    assert compress(stored(bert()), Compression(**few)).notes == (
        "--prune-heads 0.1 removed no head: 0.1 of the 4 heads of a layer rounds to none.",
    )
    kept = compress(stored(bert()), Compression(**{**few, "prune_heads": 0.5}, min_heads=4)).notes
    assert kept == ("--prune-heads 0.5 removed no head: --min-heads keeps 4 of the 4 heads of a layer.",)
    assert compress(stored(bert()), Compression(prune_ffn=0.1), labelled()).notes == (
        "--prune-ffn 0.1 removed no neuron: 0.1 of the 32 neurons of a layer rounds to none, in steps of 16.",
    )
    vocabulary = compress(stored(bert()), Compression(prune_vocab=True), used=range(bert().config.vocab_size)).notes
    assert vocabulary[0].startswith("--prune-vocab removed no token: all ")
    made = compress(stored(bert()), Compression(prune_heads=0.5, prune_ffn=0.5, drop_layers="top:1"), labelled())
    assert made.notes == ()


def test_the_layers_that_change_least_go():
    whole = bert(num_layers=4)
    # A layer whose kernels are tiny and whose norms are plain gives nearly what it got, up to scale.
    quiet = {
        name: value * 1e-4 if name.endswith(".kernel") else np.ones_like(value) if "gamma" in name else value * 0
        for name, value in whole.tensors.items()
        if name.startswith("layers.2.")
    }
    made = compress(stored(whole.change(quiet)), Compression(drop_layers="contribution:1"), labelled())
    assert made.record["layers"]["dropped"] == [2]
    assert len(made.record["layers"]["similarity"]) == 4


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "Nothing to do"),
        ({"drop_layers": "top:3"}, "at least 1 of the model's 3 layers"),
        ({"drop_layers": "5"}, "layers from 0 to 2. Received: 5"),
        ({"remove_heads": ((0, (4,)),)}, "heads from 0 to 3 of layer 0. Received: 4"),
        ({"remove_heads": ((2, (0,)),), "drop_layers": "top:1"}, "layer 2, which is dropped"),
        ({"prune_heads": 0.5, "min_heads": 5}, "--min-heads must be 1 to 4"),
        ({"ghosts": 5}, "at most the 4 heads. Received: 5"),
        ({"ghosts": 1, "ghost_kernel": 2}, "`ghost_kernel` must be an odd number"),
        ({"prune_heads": 0.5}, "rows with labels. Received: no such rows"),
        ({"prune_ffn": 0.5}, "rows with labels"),
    ],
)
def test_what_cannot_be_done_is_refused_with_its_reason(settings, words):
    with pytest.raises(InputError) as caught:
        compress(stored(bert()), Compression(**settings))
    assert words in str(caught.value)


@pytest.mark.parametrize("share", [1.0, -0.1, 1.5, float("nan"), True])
@pytest.mark.parametrize("name", ["prune_heads", "prune_ffn"])
def test_a_share_that_leaves_nothing_is_refused(name, share):
    with pytest.raises(InputError, match=r"the part that is kept must be in \(0, 1\]"):
        Compression(**{name: share})


@pytest.mark.parametrize("text", ["", "0", "0:", "0:a", "0:1;0:2", ":1", "0:1;", "-1:0", "0:1.5"])
def test_a_list_of_heads_that_is_none_is_refused(text):
    with pytest.raises(InputError, match="--remove-heads must be layers with their heads"):
        parse_heads(text)


def test_a_model_with_ghosts_loses_layers_only():
    ghostly = compress(stored(bert()), Compression(ghosts=1)).checkpoint
    assert compress(ghostly, Compression(drop_layers="top:1")).checkpoint.config.ghost_heads == (1, 1)
    for wrong in ({"ghosts": 1}, {"remove_heads": ((0, (1,)),)}):
        with pytest.raises(InputError, match="A model with ghosts can lose layers only"):
            check(ghostly, Compression(**wrong))


def test_a_folded_ffn_that_does_not_divide_is_refused():
    with pytest.raises(InputError, match="as many folds as there are heads, 4"):
        check(stored(bert(intermediate_size=30)), Compression(ghosts=1))
    narrow = stored(width.keep_neurons(bert(), [list(range(12))] * 3))
    with pytest.raises(InputError, match="whole folds, 8 neurons each"):
        check(narrow, Compression(ghosts=1))


def test_drawn_rows_follow_the_seed_and_keep_the_order():
    every = labelled()
    assert draw(every, 50, 0) is every
    one, same, other = (draw(every, 10, seed).keys for seed in (1, 1, 2))
    assert one == same != other
    assert [int(key) for key in one] == sorted(int(key) for key in one)


def test_ablation_gives_the_scores_of_models_that_are_really_pruned():
    whole, data = bert(num_layers=2), labelled(60)
    found = ablate(stored(whole), data, heads=True, alone=True, layers=True)
    base = data.score(outputs(whole, data.inputs)).value
    assert found.whole.value == base
    assert found.whole.n == 60
    for layer in range(2):
        for head in range(4):
            for table, kept in ((found.heads, [h for h in range(4) if h != head]), (found.alone, [head])):
                pruned = width.keep_heads(whole, [kept if number == layer else [0, 1, 2, 3] for number in range(2)])
                expected = data.score(outputs(pruned, data.inputs)).value - base
                assert table[layer][head].points == pytest.approx(expected, abs=1e-9)
        expected = data.score(outputs(layers.drop_layers(whole, [layer]), data.inputs)).value - base
        assert found.layers[layer].points == pytest.approx(expected, abs=1e-9)
    assert {change.points for row in found.heads for change in row} != {0.0}


def test_the_error_of_a_change_is_that_of_the_differences_of_rows():
    whole, data = bert(num_layers=2), labelled(60)
    (found,) = ablate(stored(whole), data, heads=False, layers=True).layers[:1]
    before, after = (
        outputs(one, data.inputs)["logits"].argmax(-1) == data.targets[LOGITS]
        for one in (whole, layers.drop_layers(whole, [0]))
    )
    better, worse = int((after & ~before).sum()), int((before & ~after).sum())
    assert found.points == pytest.approx(100 * (better - worse) / 60)
    variance = ((better + worse) - (better - worse) ** 2 / 60) / 59
    assert found.standard_error == pytest.approx(100 * np.sqrt(variance / 60))


def test_ablation_is_a_table_for_people_and_one_for_programs():
    found = ablate(stored(bert(num_layers=2)), labelled(), heads=True, layers=True)
    text = to_text(found)
    assert "accuracy of the whole model:" in text
    assert "(n = 40, standard error" in text
    assert text.count("\n") == 12
    values = json.loads(json.dumps(found.to_dict()))
    assert np.shape(values["without_head"]["change"]) == (2, 4)
    assert np.shape(values["without_layer"]["standard_error"]) == (2,)
    assert "head_alone" not in values
