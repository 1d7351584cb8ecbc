"""Which copies of a features-in graph may have another sequence length, for measuring time.

Shapes in the files are static, and only the constants of reshapes name them: a runtime works out all others from the
input's. A constant does not say which of its axes is time, since channels or features may have the same size. So there
are several copies, the likeliest first; the right one is the first that runs and keeps the shape of the logits.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator

# Two reshapes make four copies at most; a graph that needs more than this is given up.
_MOST = 64

Shape = tuple[int, ...]
# The bytes of a graph whose reshapes have other constants.
Rewrite = Callable[[dict[Shape, Shape]], bytes]


def copies(reshapes: Iterable[Shape], rewrite: Rewrite, *, own: int, length: int) -> Iterator[bytes]:
    """The graph with `length` in place of `own`, in every way that the constants of its `reshapes` allow."""
    if own == 1:
        raise ValueError("a time axis of size 1 cannot be told from the other axes of size 1")
    shapes = list(dict.fromkeys(reshapes))
    for chosen in itertools.islice(itertools.product(*(choices(shape, own, length) for shape in shapes)), _MOST):
        yield rewrite(dict(zip(shapes, chosen, strict=True)))


def choices(shape: Shape, own: int, length: int) -> list[Shape]:
    """What the shape may become: [..., time, channel] is the likeliest; in one of rank 2 time is mostly gone."""
    likely = len(shape) - 2
    axes = sorted((axis for axis, size in enumerate(shape) if size == own), key=lambda axis: (axis != likely, axis))
    changed = [(*shape[:axis], length, *shape[axis + 1 :]) for axis in axes]
    return [*changed, shape] if len(shape) > 2 else [shape, *changed]
