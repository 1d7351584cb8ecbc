"""Importance against numbers from elsewhere: differences of the loss in float64, and PyTorch's gradients."""

import numpy as np
import pytest
import tensorflow as tf

from models_tf.checkpoints import encoder as checkpoint
from models_tf.compress import width
from models_tf.compress.importance import measure
from models_tf.encoder.network import Network
from support.network_runs import masking, outputs, rows
from support.tiny_models import bert, stored

# Central differences in float64 with this step are exact to 1e-8; gradients in float32 to a few 1e-6 of the largest.
STEP = 1e-4
TOLERANCE = 2e-4
LABELS = np.array([0, 2, 1, 1, 0, 2], np.int32)


def batches(parts: int = 2) -> list[dict[str, np.ndarray]]:
    given = {**rows(6), "y": LABELS}
    return [{name: value[start::parts] for name, value in given.items()} for start in range(parts)]


def inputs(batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: value for name, value in batch.items() if name != "y"}


def cross_entropy(found: dict[str, tf.Tensor], batch: dict[str, tf.Tensor]) -> tf.Tensor:
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(batch["y"], found["logits"]))


def loss_of(logits: np.ndarray, labels: np.ndarray) -> float:
    """The same in NumPy."""
    shifted = logits - logits.max(-1, keepdims=True)
    chances = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return float(-chances[np.arange(len(labels)), labels].mean())


def double(network: Network) -> Network:
    return network.change({name: value.astype(np.float64) for name, value in network.tensors.items()})


def tensors_of(some: list[dict[str, np.ndarray]]) -> list[dict[str, tf.Tensor]]:
    return [{name: tf.constant(value) for name, value in batch.items()} for batch in some]


def test_mask_importance_is_the_slope_of_the_loss_over_a_mask_on_the_head():
    network = width.keep_heads(bert(), [[0, 1, 2, 3], [2, 0], [1, 3, 0]])
    found = measure(network, tensors_of(batches()), cross_entropy, method="mask")
    exact, counts = double(network), [4, 2, 3]
    assert (found.rows, found.method, [len(scores) for scores in found.heads]) == (6, "mask", counts)
    for layer, count in enumerate(counts):
        for head in range(count):
            expected = 0.0
            for batch in batches():
                values = []
                for factor in (1 + STEP, 1 - STEP):
                    masks = [np.ones(number) for number in counts]
                    masks[layer][head] = factor
                    logits = outputs(exact, inputs(batch), masking(exact, masks))["logits"]
                    values.append(loss_of(logits, batch["y"]))
                expected += abs(values[0] - values[1]) / (2 * STEP)
            assert found.heads[layer][head] == pytest.approx(expected, rel=TOLERANCE, abs=1e-6)


def test_token_importance_is_the_sum_of_absolute_slopes_at_each_token():
    network, (batch,) = bert(), batches(1)
    found = measure(network, tensors_of([batch]), cross_entropy, method="token")
    exact, time = double(network), batch["ids"].shape[1]
    for layer, head in ((0, 1), (1, 3), (2, 0)):
        total = 0.0
        for row, place in zip(*np.nonzero(batch["mask"]), strict=True):

            def shift(factor: float, token: int = int(row * time + place), layer: int = layer, head: int = head):
                def change(name: str, context: tf.Tensor) -> tf.Tensor:
                    if name != f"layers.{layer}":
                        return context
                    factors = np.ones(context.shape)
                    factors[token, head * 8 : head * 8 + 8] = factor
                    return context * factors

                return change

            up, down = (
                loss_of(outputs(exact, inputs(batch), shift(factor))["logits"], batch["y"])
                for factor in (1 + STEP, 1 - STEP)
            )
            total += abs(up - down) / (2 * STEP)
        # Michel's code: by tokens; in the last layer, where only the first token is read, by rows.
        expected = total / (6 if layer == 2 else int(batch["mask"].sum()))
        assert found.heads[layer][head] == pytest.approx(expected, rel=TOLERANCE, abs=1e-8)


def test_the_two_forms_agree_where_a_row_has_one_token_and_token_is_larger_elsewhere():
    network = bert()
    one = {name: value[:1, :1] for name, value in batches(1)[0].items() if name != "y"} | {"y": LABELS[:1]}
    mask, token = (measure(network, tensors_of([one]), cross_entropy, method=method) for method in ("mask", "token"))
    for ours, theirs in zip(mask.heads, token.heads, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    many = batches(1)[0]
    mask, token = (measure(network, tensors_of([many]), cross_entropy, method=method) for method in ("mask", "token"))
    tokens = int(many["mask"].sum())
    for layer in range(2):
        assert (token.heads[layer] * tokens >= mask.heads[layer] - 1e-6).all()
        assert not np.allclose(token.heads[layer] * tokens, mask.heads[layer], rtol=1e-2)


def test_padding_has_no_importance():
    network, (batch,) = bert(), batches(1)
    longer = {
        name: np.pad(value, ((0, 0), (0, 5)), constant_values=9 * (name == "ids")) if value.ndim == 2 else value
        for name, value in batch.items()
    }
    for method in ("mask", "token"):
        short, long = (measure(network, tensors_of([one]), cross_entropy, method=method) for one in (batch, longer))
        for ours, theirs in zip((*short.heads, *short.neurons), (*long.heads, *long.neurons), strict=True):
            np.testing.assert_allclose(theirs, ours, rtol=1e-3, atol=1e-7)


def test_neurons_have_the_importance_that_pytorch_gives(tmp_path):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    network = bert()
    checkpoint.save(tmp_path / "m", stored(network))
    theirs = transformers.BertForSequenceClassification.from_pretrained(tmp_path / "m").eval()
    expected = [np.zeros(32) for _ in range(3)]
    for batch in batches():
        theirs.zero_grad()
        theirs(
            input_ids=torch.tensor(batch["ids"], dtype=torch.long),
            attention_mask=torch.tensor(batch["mask"]),
            token_type_ids=torch.tensor(batch["segments"], dtype=torch.long),
            labels=torch.tensor(batch["y"], dtype=torch.long),
        ).loss.backward()
        for layer in range(3):
            block = theirs.bert.encoder.layer[layer]
            into, out = block.intermediate.dense, block.output.dense
            first = (into.weight * into.weight.grad).sum(1) + into.bias * into.bias.grad
            expected[layer] += (first.abs() + (out.weight * out.weight.grad).sum(0).abs()).detach().numpy()
    found = measure(network, tensors_of(batches()), cross_entropy)
    for ours, sums in zip(found.neurons, expected, strict=True):
        np.testing.assert_allclose(ours, sums, rtol=1e-3, atol=1e-5 * sums.max())


def test_no_rows_an_unknown_form_and_mobilebert_are_refused():
    from support.tiny_models import config
    from support.tiny_models import network as random_network

    with pytest.raises(ValueError, match="at least one row"):
        measure(bert(), [], cross_entropy)
    with pytest.raises(ValueError, match="one of mask, token"):
        measure(bert(), [], cross_entropy, method="magnitude")
    with pytest.raises(ValueError, match="without bottlenecks"):
        measure(random_network(config("opt"), bert().head), [], cross_entropy)
