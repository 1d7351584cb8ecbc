"""Exact match and F1 of an answer, as the official evaluate-v1.1.py of SQuAD computes them."""

import re
import string
from collections import Counter
from collections.abc import Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalize(answer: str) -> str:
    """Small letters, no ASCII punctuation, no articles, single spaces: in this order."""
    return " ".join(_ARTICLES.sub(" ", answer.lower().translate(_NO_PUNCTUATION)).split())


def f1(prediction: str, truth: str) -> float:
    """From 0 to 1, over the words that both share."""
    predicted, wanted = normalize(prediction).split(), normalize(truth).split()
    shared = sum((Counter(predicted) & Counter(wanted)).values())
    if not shared:  # also where both are empty: so does the official script
        return 0.0
    precision, recall = shared / len(predicted), shared / len(wanted)
    return 2 * precision * recall / (precision + recall)


def judge(prediction: str, truths: Sequence[str]) -> tuple[bool, float]:
    """Exact match and F1 against the best of the true answers."""
    exact = any(normalize(prediction) == normalize(truth) for truth in truths)
    return exact, max((f1(prediction, truth) for truth in truths), default=0.0)
