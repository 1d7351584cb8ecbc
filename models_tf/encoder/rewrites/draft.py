"""`Draft`: a network under change. Folds are computed in float64 and rounded once, at the end of a rewrite."""

import numpy as np

from models_tf.encoder.network import Network


class Draft:
    """Copies of the tensors that a rewrite touches; the network itself stays as it is."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self._changed: dict[str, np.ndarray] = {}
        self._gone: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._changed or (name in self.network.tensors and name not in self._gone)

    def __getitem__(self, name: str) -> np.ndarray:
        if name in self._changed:
            return self._changed[name]
        if name in self._gone:
            raise KeyError(name)
        return np.asarray(self.network.tensors[name], np.float64)

    def __setitem__(self, name: str, value: np.ndarray) -> None:
        self._gone.discard(name)
        self._changed[name] = np.asarray(value, np.float64)

    def get(self, name: str, default: float) -> np.ndarray | float:
        if name not in self:
            return default
        return self[name]

    def pop(self, name: str, default: np.ndarray | None = None) -> np.ndarray | None:
        """Takes the tensor out."""
        if name not in self:
            return default
        value = self[name]
        self._changed.pop(name, None)
        self._gone.add(name)
        return value

    def scale_outputs(self, dense: str, factors: np.ndarray) -> None:
        """Multiplies what a dense layer (or table) gives, channel by channel."""
        for name in (f"{dense}.kernel", f"{dense}.bias", dense):
            if name in self:
                self[name] = self[name] * factors

    def undo_inputs(self, dense: str, factors: np.ndarray) -> None:
        """Divides the rows of a dense layer whose input is multiplied by the factors."""
        self[f"{dense}.kernel"] = self[f"{dense}.kernel"] / factors[:, None]

    def add_bias(self, dense: str, values: np.ndarray) -> None:
        """Adds to a dense layer's bias, which is made if it is absent, or to all rows of a table."""
        if dense in self:
            self[dense] = self[dense] + values
            return
        self[f"{dense}.bias"] = self[f"{dense}.bias"] + values if f"{dense}.bias" in self else values

    def result(self, **form: bool) -> Network:
        """The changed network; the same object if nothing was changed."""
        if not (self._changed or self._gone or form):
            return self.network
        dtype = self.network.tensors["word_embedding"].dtype
        changed = {name: value.astype(dtype) for name, value in self._changed.items()}
        return self.network.change(changed, remove=self._gone, **form)
