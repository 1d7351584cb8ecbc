"""Name and shape of the weights of a dense layer and of a norm."""

Shapes = dict[str, tuple[int, ...]]


def dense(name: str, size: int, units: int) -> Shapes:
    """The kernel is [in, out]."""
    return {f"{name}.kernel": (size, units), f"{name}.bias": (units,)}


def norm(name: str, size: int) -> Shapes:
    return {f"{name}.gamma": (size,), f"{name}.beta": (size,)}
