"""`PradoConfig`: every choice of a PRADO model."""

from dataclasses import dataclass

from models_tf.text_config import TextConfig

# name -> (live taps, distance between them); skip-grams are dilated bigrams, so no dead tap is stored.
BRANCHES = {
    "unigram": (1, 1),
    "bigram": (2, 1),
    "trigram": (3, 1),
    "fourgram": (4, 1),
    "fivegram": (5, 1),
    "skip1bigram": (2, 2),
    "skip2bigram": (2, 3),
}


@dataclass(frozen=True, kw_only=True)
class PradoConfig(TextConfig):
    """Sizes, branches and regularisation; a branch with 0 channels does not exist."""

    embedding_size: int = 64
    # One bottleneck for values and attention instead of the published two: room for twice the features.
    shared_bottleneck: bool = False
    unigram: int = 32
    bigram: int = 32
    trigram: int = 32
    fourgram: int = 32
    fivegram: int = 32
    skip1bigram: int = 32
    skip2bigram: int = 32
    # Added to the attention logits of real tokens; padding stays at 0. exp(-16) a padded row is
    # 1.1e-7 of one average token: 512 rows of padding move a logit by less than 1e-4.
    attention_offset: float = 16.0
    norm_momentum: float = 0.99
    norm_epsilon: float = 1e-3
    embedding_l2: float = 0.0
    network_l2: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_rates("norm_momentum")
        if self.embedding_size < 1:
            raise ValueError(f"`embedding_size` must be at least 1. Received: {self.embedding_size}.")
        if any(getattr(self, name) < 0 for name in BRANCHES) or not self.channels:
            raise ValueError("At least one n-gram branch must have channels, and none fewer than 0.")
        if self.attention_offset <= 0:
            raise ValueError(f"`attention_offset` must be positive. Received: {self.attention_offset}.")

    @property
    def branches(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in BRANCHES if getattr(self, name)}

    @property
    def channels(self) -> int:
        return sum(self.branches.values())
