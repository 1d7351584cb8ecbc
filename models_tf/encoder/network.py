"""`Network`: an encoder with its head as a value: config, weights by name, and the form the weights are in.

Rewrites are functions from a network to a network that computes the same. What a rewrite folds away is gone from
`tensors`: a bias, norm or table that is absent does nothing. `Form` says what the absence of a tensor cannot.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.heads import Head


@dataclass(frozen=True, kw_only=True)
class Form:
    """`scaled_query`: the factor of the attention scores is in the query's weights. `first_token_only`: the last layer
    answers for the first token alone.
    """

    scaled_query: bool = False
    first_token_only: bool = False


@dataclass(frozen=True, kw_only=True)
class Network:
    config: EncoderConfig
    head: Head
    tensors: Mapping[str, np.ndarray]
    form: Form = field(default_factory=Form)

    @property
    def takes_segments(self) -> bool:
        """Whether there is a choice: all tokens have the one segment of a table with one row."""
        return len(self.tensors.get("segment_embedding", ())) > 1

    def change(self, tensors: Mapping[str, np.ndarray], *, remove: Iterable[str] = (), **form: bool) -> "Network":
        """The same network with some tensors replaced or added, some removed, and the form's fields that are given."""
        gone = set(remove)
        kept = {name: value for name, value in self.tensors.items() if name not in gone}
        return dataclasses.replace(
            self, tensors={**kept, **tensors}, form=dataclasses.replace(self.form, **form) if form else self.form
        )
