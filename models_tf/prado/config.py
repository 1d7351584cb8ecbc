"""`PradoConfig`: every choice of a PRADO model."""

from dataclasses import dataclass

from models_tf.prado.text_config import MAX_SIZE, TextConfig

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
        self._check_range("embedding_size", low=1, high=MAX_SIZE)
        self._check_range(*BRANCHES, high=MAX_SIZE)
        if not self.channels:
            raise ValueError("At least one n-gram branch must have channels. Received: none.")
        # 100 is far above what softmax tells from infinity.
        self._check_range("attention_offset", low=1e-3, high=100.0)
        self._check_range("norm_epsilon", low=1e-9, high=1.0)
        self._check_range("embedding_l2", "network_l2", high=1000.0)
        self._check_parameters(self.parameters)

    @property
    def branches(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in BRANCHES if getattr(self, name)}

    @property
    def channels(self) -> int:
        return sum(self.branches.values())

    @property
    def parameters(self) -> int:
        """Weights of the kernels; norms and biases are few beside them."""
        embedding = self.embedding_size * self.projection.feature_size * (1 if self.shared_bottleneck else 2)
        taps = sum(2 * BRANCHES[name][0] * channels for name, channels in self.branches.items())
        return embedding + self.embedding_size * taps + self.channels * self.num_labels
