"""Several processes that train one model together: the first, the chief, decides and writes, the others follow it.

Every worker reads all rows and takes its part of each batch (`updates.py`), so they meet at the same steps with the
same weights. Leaves out how the processes find each other: that is the strategy's.
"""

import json
from typing import Any

import numpy as np
import tensorflow as tf


class Workers:
    """Those of a `strategy`; without one, the only worker, which is the chief."""

    def __init__(self, strategy: tf.distribute.Strategy | None = None, *, is_chief: bool = True) -> None:
        self._strategy, self.is_chief = strategy, is_chief
        self._sum = tf.function(self._add_up, input_signature=[tf.TensorSpec((None,), tf.int32)], autograph=False)

    def from_chief(self, value: Any) -> Any:
        """What the chief gives, as JSON can hold it; all workers must call it."""
        if self._strategy is None:
            return value
        return json.loads(self.bytes_from_chief(json.dumps(value).encode()))

    def count(self, value: bool) -> int:
        """How many workers say yes; all must call it."""
        return int(value) if self._strategy is None else int(self._sum(np.array([value], np.int32)).numpy()[0])

    def bytes_from_chief(self, data: bytes) -> bytes:
        """The chief's bytes. The others add zeros to them."""
        if self._strategy is None:
            return data
        low, high = self._summed(np.array([len(data) % 2**30, len(data) // 2**30], np.int32))
        size = int(low) + 2**30 * int(high)
        if not size:
            return b""  # a sum of nothing would end the process
        padded = np.zeros((size + 3) // 4 * 4, np.uint8)
        if self.is_chief:
            padded[:size] = np.frombuffer(data, np.uint8)
        return self._summed(padded.view(np.int32)).tobytes()[:size]

    def _summed(self, values: np.ndarray) -> np.ndarray:
        return self._sum(values if self.is_chief else np.zeros_like(values)).numpy()

    def _add_up(self, values: tf.Tensor) -> tf.Tensor:
        def replica() -> tf.Tensor:
            context = tf.distribute.get_replica_context()
            return context.all_reduce(tf.distribute.ReduceOp.SUM, tf.identity(values))

        return self._strategy.run(replica)  # type: ignore[union-attr] # only with one
