"""Parts of an encoder: every weight has one, operators are found by the graph alone, and sums are exact."""

import dataclasses
import math

import pytest

from exporters.profiling import parts as profile_parts
from exporters.profiling.parts import (
    AFTER,
    ATTENTION,
    BEFORE,
    EMBEDDING,
    FFN,
    GHOSTS,
    GRAPH,
    HEAD,
    MATMUL,
    OTHER,
    PARTS,
    SOFTMAX,
    Op,
    OpGraph,
    Plan,
    UnknownGraphError,
    part_of_weight,
)
from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.heads import Head
from models_tf.encoder.network import Network
from support.profiled_networks import NETWORKS, feed, files, measure, op_graph, original, rewritten
from support.tiny_models import HEADS, SHAPES, TIME, config, ghost_config

TARGETS = ("tflite", "onnx")
RECIPES = ("float32", "fp16", "int8-dynamic", "int8")
# Those whose graph without rewrites is made too.
COUNTED = tuple(name for name in NETWORKS if name not in ("tiny", "opt-questions"))
both_targets = pytest.mark.parametrize("target", TARGETS)


# Weights.


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("variant", [*SHAPES, "ghosts"])
def test_parameters_of_the_parts_add_up_to_those_of_the_config(variant: str, head: str) -> None:
    settings = ghost_config(ghost_on="outputs") if variant == "ghosts" else config(variant)
    shapes = settings.shapes(HEADS[head])
    found = dict.fromkeys(PARTS, 0)
    for name, shape in shapes.items():
        found[part_of_weight(name)] += math.prod(shape)
    on_top = sum(math.prod(shape) for name, shape in shapes.items() if name.startswith(("pooler", "classifier")))
    assert found[HEAD] == on_top
    assert sum(found.values()) == settings.parameters() + on_top


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("word_embedding", EMBEDDING),
        ("embedding_norm.gamma", EMBEDDING),
        ("embedding_convolution.kernel", EMBEDDING),
        ("layers.11.query.kernel", BEFORE),
        ("layers.0.fused_input.bias", BEFORE),
        ("layers.3.bottleneck_shared_norm.beta", BEFORE),
        ("layers.3.bottleneck_input.kernel", BEFORE),
        ("layers.3.attention_output.kernel", AFTER),
        ("layers.3.attention_norm.gamma", AFTER),
        ("layers.3.attention_norm.skip", AFTER),
        ("layers.3.ffn.2.norm.gamma", FFN),
        ("layers.3.ffn.0.intermediate.bias", FFN),
        ("layers.3.bottleneck_output.kernel", FFN),
        ("layers.3.bottleneck_output_norm.beta", FFN),
        ("layers.3.ghost_heads.kernel", GHOSTS),
        ("layers.3.ghost_folds.taps", GHOSTS),
        ("pooler.bias", HEAD),
        ("classifier.kernel", HEAD),
    ],
)
def test_a_weight_has_the_part_that_the_docs_say(name: str, part: str) -> None:
    assert part_of_weight(name) == part


# Operators.


def kernels(network: Network) -> dict[str, int]:
    """Elements of all matrices by part; the embedding's tables are no matrices that are multiplied by."""
    found = dict.fromkeys(PARTS, 0)
    for name, value in network.tensors.items():
        # Kernels of ghosts are convolved with; the rows that read ghosts are multiplied by.
        if name.endswith(".ghost_kernel") or (name.endswith(".kernel") and ".ghost_" not in name):
            found[part_of_weight(name)] += value.size
        elif name.endswith(".gain"):
            found[GHOSTS] += value.size
    return found


def multiplied(graph: OpGraph, parts: list[frozenset[str]]) -> dict[str, int]:
    """Elements of the constant matrices that operators of each part multiply by."""
    found = dict.fromkeys(PARTS, 0)
    for op, own in zip(graph.ops, parts, strict=True):
        (part,) = own
        found[part] += op.weights
    return found


@pytest.mark.slow
@both_targets
@pytest.mark.parametrize(
    ("name", "fold"), [*((name, "full") for name in NETWORKS), *((name, "off") for name in COUNTED)]
)
def test_each_part_multiplies_by_its_own_matrices_and_by_no_others(name: str, fold: str, target: str) -> None:
    graph = op_graph(files(name, fold)[target], target)
    parts = profile_parts.assign(graph, Plan.of(rewritten(name, fold)))
    found, expected = multiplied(graph, parts), kernels(rewritten(name, fold))
    # Products of two activations have a size as well, in TFLite, and no weights.
    del found[ATTENTION], expected[ATTENTION]
    assert found == expected


@both_targets
@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("name", ["bert", "opt"])
def test_every_recipe_has_the_same_parts_with_bytes_that_add_up_to_the_file(
    name: str, recipe: str, target: str
) -> None:
    content = files(name, recipe=recipe)[target]
    graph = op_graph(content, target)
    parts = profile_parts.assign(graph, Plan.of(rewritten(name)))
    sizes = profile_parts.bytes_of_parts(graph, parts, len(content))
    assert sum(sizes.values()) == len(content)
    assert sizes[GRAPH] > 0
    least = {"float32": 4, "fp16": 2}.get(recipe, 1)
    for part, elements in kernels(rewritten(name)).items():
        assert sizes[part] >= least * elements
    assert sizes[GHOSTS] == 0


@both_targets
@pytest.mark.parametrize("name", ["bert", "opt"])
def test_softmax_and_both_products_are_attention_and_nothing_with_weights_is(name: str, target: str) -> None:
    graph = op_graph(files(name)[target], target)
    parts = profile_parts.assign(graph, Plan.of(rewritten(name)))
    own = [op for op, part in zip(graph.ops, parts, strict=True) if ATTENTION in part]
    layers = original(name).config.num_layers
    assert sum(op.kind == SOFTMAX for op in own) == layers
    assert sum(op.kind == MATMUL for op in own) == 2 * layers
    assert all(key not in graph.constants for op in own if op.kind == MATMUL for key in op.factors)


# Multiply-adds.


def by_hand(settings: EncoderConfig, head: Head, time: int) -> dict[str, int]:
    """Of the graph without rewrites, from its sizes."""
    hidden, inner = settings.hidden_size, settings.bottleneck_size
    found = dict.fromkeys(PARTS, 0)
    if settings.projects_embedding:
        found[EMBEDDING] = time * settings.embedding_size * (3 if settings.trigram else 1) * hidden
    for layer in range(settings.num_layers):
        width, middle = settings.heads_of(layer) * settings.head_size, settings.ffn_of(layer)
        if settings.use_bottleneck:
            found[BEFORE] += time * hidden * inner * (2 if settings.key_query_shared else 1)
            found[FFN] += time * inner * hidden
        for part in ("query", "key", "value"):
            found[BEFORE] += time * (hidden if settings.reads(part) == "input" else inner) * width
        found[ATTENTION] += 2 * time * time * width
        heads, folds = settings.ghosts_of(layer)
        on_heads = settings.ghost_on == "heads"
        size, fold = (settings.head_size, settings.fold_size) if on_heads else (hidden, hidden)
        taps = settings.ghost_kernel
        found[GHOSTS] += time * taps * settings.heads_of(layer) * size * heads
        found[GHOSTS] += time * taps * (middle // settings.fold_size) * fold * folds
        if not on_heads:  # each ghost times its gain, and the sum of the groups as a convolution with ones
            found[GHOSTS] += time * hidden * (heads + folds)
            found[GHOSTS] += time * hidden * settings.heads_of(layer) * bool(heads)
            found[GHOSTS] += time * hidden * (middle // settings.fold_size) * bool(folds)
        found[AFTER] += time * (width + size * heads * on_heads) * inner
        found[FFN] += settings.num_ffn * time * inner * (2 * middle + fold * folds * on_heads)
    if settings.pooler and settings.pools(head):
        found[HEAD] += hidden * hidden
    found[HEAD] += (1 if head.reads_pooled else time) * hidden * head.num_labels
    return found


def counted(name: str, fold: str, target: str) -> dict[str, int]:
    content, plan = files(name, fold)[target], Plan.of(rewritten(name, fold))
    return measure(content, target, plan, feed(name, fold))[1]


@both_targets
@pytest.mark.parametrize("name", COUNTED)
def test_multiply_adds_of_the_plain_graph_are_those_computed_by_hand(name: str, target: str) -> None:
    network = original(name)
    assert counted(name, "off", target) == by_hand(network.config, network.head, TIME)


@both_targets
def test_a_last_layer_for_the_first_token_alone_has_fewer_multiply_adds(target: str) -> None:
    settings = original("bert").config
    hidden, middle = settings.hidden_size, settings.intermediate_size
    found, plain = counted("bert", "full", target), by_hand(settings, original("bert").head, TIME)
    others = TIME - 1  # tokens that the last layer does without, but for keys and values
    assert plain[BEFORE] - found[BEFORE] == others * hidden * hidden
    assert plain[ATTENTION] - found[ATTENTION] == others * 2 * TIME * hidden
    assert plain[AFTER] - found[AFTER] == others * hidden * hidden
    assert plain[FFN] - found[FFN] == others * 2 * hidden * middle
    assert plain[HEAD] == found[HEAD]


@pytest.mark.parametrize(
    ("sizes", "linear", "attention"),
    [
        # BERT-base at 128 tokens: 22.3 GFLOP, two for each multiply-add.
        (
            {"hidden_size": 768, "bottleneck_size": 768, "embedding_size": 768, "num_heads": 12}
            | {"intermediate_size": 3072, "num_layers": 12, "variant": "bert"},
            10_871_635_968,
            301_989_888,
        ),
        # MobileBERT at 128 tokens: 2.592 G in linear layers and 0.101 G in attention.
        (
            {"hidden_size": 512, "bottleneck_size": 128, "embedding_size": 128, "num_heads": 4}
            | {"intermediate_size": 512, "num_layers": 24, "variant": "opt"},
            2_592_079_872,
            100_663_296,
        ),
    ],
    ids=["bert-base", "mobilebert"],
)
def test_the_formula_gives_the_known_figures_of_the_published_sizes(sizes: dict, linear: int, attention: int) -> None:
    """The formula that the graphs above are compared with."""
    settings = config(sizes.pop("variant"), **sizes, max_positions=512, vocab_size=30522)
    found = by_hand(settings, HEADS["base"], 128)
    assert sum(found[part] for part in (EMBEDDING, BEFORE, AFTER, FFN)) == linear
    assert found[ATTENTION] == attention


# Graphs that are something else.


def chain(*kinds: str) -> OpGraph:
    """Operators one behind the other; a "dense" one multiplies by a constant."""
    ops = [
        Op(
            kind=MATMUL if kind == "dense" else kind,
            reads=(number, "w") if kind == "dense" else (number,),
            writes=(number + 1,),
            factors={"dense": (number, "w"), MATMUL: (number, number)}.get(kind, ()),
        )
        for number, kind in enumerate(kinds)
    ]
    return OpGraph(ops=tuple(ops), constants={"w": 4})


PLAN = Plan(embedding=0, chains=((AFTER, FFN, FFN),))
LAYER = (OTHER, "dense", MATMUL, SOFTMAX, MATMUL, OTHER, "dense", OTHER, "dense", OTHER, "dense", OTHER)


def test_operators_without_weights_belong_to_what_they_follow() -> None:
    parts = profile_parts.assign(chain(*LAYER, "dense", OTHER), PLAN)
    assert [next(iter(part)) for part in parts] == [
        EMBEDDING,
        BEFORE,
        *[ATTENTION] * 4,
        *[AFTER] * 2,
        *[FFN] * 4,
        *[HEAD] * 2,
    ]


def test_an_operator_on_constants_belongs_to_all_that_read_it_and_its_bytes_to_the_graph() -> None:
    graph = chain(*LAYER)
    cast = Op(kind=OTHER, reads=("half",), writes=("w",))
    graph = OpGraph(ops=(cast, *graph.ops), constants={"half": 2})
    parts = profile_parts.assign(graph, PLAN)
    assert parts[0] == {BEFORE, AFTER, FFN}
    assert profile_parts.bytes_of_parts(graph, parts, 100) == {**dict.fromkeys(PARTS, 0), GRAPH: 100}


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (Plan(embedding=0, chains=(PLAN.chains[0],) * 2), "2 layers were expected, and 1 have attention"),
        (Plan(embedding=0, chains=((AFTER, *[FFN] * 9),)), "layer 0 lacks dense layer 4 of 10"),
    ],
)
def test_a_graph_of_another_network_is_refused(plan: Plan, words: str) -> None:
    with pytest.raises(UnknownGraphError, match=words):
        profile_parts.assign(chain(*LAYER), plan)


def test_attention_fused_with_its_linear_layers_is_refused() -> None:
    graph = chain(*LAYER)
    fused = dataclasses.replace(graph.ops[1], kind=profile_parts.FUSED)
    with pytest.raises(UnknownGraphError, match="one operator"):
        profile_parts.assign(dataclasses.replace(graph, ops=(graph.ops[0], fused, *graph.ops[2:])), PLAN)
