"""A folder as DeBERTa-v3 is published, in small: half precision in pytorch_model.bin, no class in config.json, heads of
both networks of pretraining, a table of positions that is not read, more rows than tokens, bytes in spm.model.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models_tf.checkpoints import encoder as checkpoint
from models_tf.encoder.heads import BASE, Head
from models_tf.encoder.model import Encoder
from models_tf.spec import HIDDEN
from models_tf.tokenizers.tokenizer import Tokenizer
from support.spiece_files import DEBERTA_TOKENS, deberta_model
from support.torch_models import pytorch_model

torch = pytest.importorskip("torch")

BYTES, SPARE = 256, 12
DOCUMENT: dict[str, Any] = {
    "model_type": "deberta-v2", "attention_probs_dropout_prob": 0.1, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
    "hidden_size": 24, "initializer_range": 0.02, "intermediate_size": 48, "max_position_embeddings": 64,
    "relative_attention": True, "position_buckets": 16, "norm_rel_ebd": "layer_norm", "share_att_key": True,
    "pos_att_type": "p2c|c2p", "layer_norm_eps": 1e-7, "max_relative_positions": -1, "position_biased_input": False,
    "num_attention_heads": 4, "num_hidden_layers": 2, "type_vocab_size": 0,
    "vocab_size": DEBERTA_TOKENS + BYTES + SPARE,
}  # fmt: skip
PRETRAINING = {
    "embeddings.position_embeddings.weight": (64, 24),
    "lm_predictions.lm_head.bias": (DOCUMENT["vocab_size"],), "lm_predictions.lm_head.dense.weight": (24, 24),
    "lm_predictions.lm_head.dense.bias": (24,), "lm_predictions.lm_head.LayerNorm.weight": (24,),
    "lm_predictions.lm_head.LayerNorm.bias": (24,), "mask_predictions.dense.weight": (24, 24),
    "mask_predictions.dense.bias": (24,), "mask_predictions.LayerNorm.weight": (24,),
    "mask_predictions.LayerNorm.bias": (24,), "mask_predictions.classifier.weight": (1, 24),
    "mask_predictions.classifier.bias": (1,),
}  # fmt: skip
# float32 rounding through two layers is some 1e-6 of the largest value.
TOLERANCE = 1e-5


def test_its_hidden_states_are_those_of_pytorch_from_its_own_files(tmp_path: Path) -> None:
    theirs = pytorch_model("DebertaV2", DOCUMENT, Head(kind=BASE)).half().float()
    stored = {f"deberta.{name}": value.half() for name, value in theirs.state_dict().items()}
    for name, shape in PRETRAINING.items():
        stored[f"deberta.{name}" if name.startswith("embeddings") else name] = torch.ones(shape).half()
    torch.save(stored, tmp_path / "pytorch_model.bin")
    (tmp_path / "config.json").write_text(json.dumps(DOCUMENT))
    (tmp_path / "spm.model").write_bytes(deberta_model(byte_fallback=True))
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false, "vocab_type": "spm"}')

    found = checkpoint.load(tmp_path, head=BASE)
    tokenizer = Tokenizer.from_folder(tmp_path)
    tokenizer.check_embedding(found.config.vocab_size)
    rows = tokenizer.encode(["a film that is good", "\U00013000 bad"], max_len=16)
    ours = Encoder(found.config, found.head, found.tensors)(**rows)[HIDDEN].numpy()
    with torch.no_grad():
        wanted = theirs(
            input_ids=torch.from_numpy(rows["ids"]).long(), attention_mask=torch.from_numpy(rows["mask"])
        ).last_hidden_state.numpy()
    real = rows["mask"].astype(bool)
    assert np.abs(ours[real] - wanted[real]).max() < TOLERANCE * np.abs(wanted[real]).max()
