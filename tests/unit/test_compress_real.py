"""Real weights: another order of heads and neurons gives the same logits, and pruning is masking."""

import numpy as np
import pytest

from models_tf.checkpoints import encoder as checkpoint
from models_tf.compress import width
from models_tf.encoder.network import Network
from models_tf.tokenizers.tokenizer import Tokenizer
from support.network_runs import masking, outputs, relative_error
from support.real_checkpoints import minilm_sst2

TEXTS = ["a gorgeous , witty , seductive movie .", "it 's dull", "not a bad film , if you have nothing else to do"]


@pytest.mark.exhaustive
def test_minilm_answers_the_same_in_another_order_and_masked_is_pruned():
    found = checkpoint.load(minilm_sst2())
    network = Network(config=found.config, head=found.head, tensors=found.tensors)
    given = Tokenizer.from_files(found.tokenizer_files).encode(TEXTS, max_len=24)
    generator = np.random.default_rng(0)
    orders = [generator.permutation(12).tolist() for _ in range(6)]
    changed = width.keep_neurons(width.keep_heads(network, orders), [generator.permutation(1536) for _ in range(6)])
    expected = outputs(network, given)
    assert not np.array_equal(changed.tensors["layers.0.query.kernel"], network.tensors["layers.0.query.kernel"])
    assert relative_error(outputs(changed, given), expected) <= 1e-5
    kept = [order[: 3 + layer] for layer, order in enumerate(orders)]
    masks = [[float(head in heads) for head in range(12)] for heads in kept]
    pruned = outputs(width.keep_heads(network, kept), given)
    assert relative_error(pruned, outputs(network, given, masking(network, masks))) <= 1e-5
    assert relative_error(pruned, expected) > 1e-3
