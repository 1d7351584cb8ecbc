"""`--init-from-teacher`: a narrow student's words are those of its teacher, of any family, to what its rank allows."""

import numpy as np
import pytest

from models_tf import registry
from models_tf.spec import IDS, MASK
from models_tf.training.teacher_start import start_from_teacher
from support.tiny_models import tiny_encoder

TEACHERS = [name for name in registry.names(registry.TOKENS) if name not in ("mobilebert", "albert", "electra")]


@pytest.mark.parametrize("family", TEACHERS)
def test_a_student_of_full_rank_has_the_words_of_its_teacher(family: str) -> None:
    """DistilBERT, MPNet and DeBERTa have no segments, DeBERTa-v3 no positions in its sum."""
    teacher = tiny_encoder(family, "base")
    width = teacher.config.hidden_size
    student = tiny_encoder("mobilebert", hidden_size=width, embedding_size=width, trigram_input=True)
    vocabulary = min(teacher.config.vocab_size, student.config.vocab_size)
    inputs = {IDS: np.full((2, 8), 7, np.int32), MASK: np.ones((2, 8), np.int32)}
    found = start_from_teacher(student.tensors, student.config, teacher, inputs)
    assert all(np.isfinite(value).all() and value.shape == student.tensors[name].shape for name, value in found.items())
    kernel = found["embedding_projection.kernel"][width : 2 * width]  # of the token itself
    words = teacher.tensors["word_embedding"][:vocabulary]
    # Orthogonal directions in float64, kept as float32.
    np.testing.assert_allclose(
        (found["word_embedding"] @ kernel)[:vocabulary], words - words.mean(-1, keepdims=True), atol=1e-5
    )
    for name in ("position_embedding", "segment_embedding"):
        table = teacher.tensors.get(name)
        count = 0 if table is None else min(len(table), len(found[name]))
        wanted = 0 if table is None else (table - table.mean(-1, keepdims=True))[:count]
        np.testing.assert_allclose(found[name][:count], wanted, atol=1e-6)
