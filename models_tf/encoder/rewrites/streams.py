"""The streams of a network: tensors whose channels may be shifted and scaled, with their writers and readers.

A stream is a list of links, each the sum of the previous one and the output of a dense layer. Between two links there
may be a multiplication on the skip path (`<norm>.skip`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from models_tf.encoder.config import NO_NORM
from models_tf.encoder.heads import WITHOUT_WEIGHTS
from models_tf.encoder.network import Network


@dataclass(frozen=True, kw_only=True)
class Link:
    """`tensor`: its name in `ranges`. `writers`: dense layers and tables; all of them scale it, the last one shifts it.

    `norm`: the one between the previous link and this one. `fixed`: an output, which must not change. `movable`: false
    after an activation function, which lets a factor through but not a shift.
    """

    tensor: str
    writers: tuple[str, ...]
    readers: tuple[str, ...]
    norm: str | None = None
    fixed: bool = False
    movable: bool = True


Stream = list[Link]


def require_open(network: Network) -> None:
    """Refuses a network whose norms are not folded or whose matrices are already fused."""
    if network.config.norm != NO_NORM:
        raise ValueError("Channels can be moved and scaled where norms are NoNorm. Received: LayerNorm.")
    odd = [name for name in network.tensors if name.endswith((".gamma", ".beta")) or ".fused_input" in name]
    if odd:
        raise ValueError(f"Norms must be folded and nothing fused before channels are scaled. Received: {odd[0]}.")


def streams(network: Network) -> Iterator[Stream]:
    """All streams, those inside layers first. Requires: norms folded, nothing fused."""
    require_open(network)
    config = network.config
    for number in range(config.num_layers):
        name = f"layers.{number}"
        if config.activation == "relu":  # the only activation here that lets a positive factor through
            for ffn in (f"{name}.ffn.{index}" for index in range(config.num_ffn)):
                middle, writers, readers = f"{ffn}.middle", (f"{ffn}.intermediate",), (f"{ffn}.output",)
                yield [Link(tensor=middle, writers=writers, readers=readers, movable=False)]
        yield [Link(tensor=f"{name}.value", writers=(f"{name}.value",), readers=(f"{name}.attention_output",))]
        if "bottleneck_shared" in config.input_readers:
            both = (f"{name}.query", f"{name}.key")
            yield [Link(tensor=f"{name}.shared", writers=(f"{name}.bottleneck_shared",), readers=both)]
        if config.use_bottleneck:
            attention = tuple(f"{name}.{p}" for p in ("query", "key", "value") if config.reads(p) == "bottleneck")
            first = Link(tensor=f"{name}.inner.0", writers=(f"{name}.bottleneck_input",), readers=attention)
            yield [first, *_inner(network, name, (f"{name}.bottleneck_output",))]
    yield from _words(network)
    yield _outer(network)


def _inner(network: Network, name: str, readers_of_last: tuple[str, ...]) -> Iterator[Link]:
    """A layer's sums: attention's and each FFN's."""
    count = network.config.num_ffn
    writers = [f"{name}.attention_output", *(f"{name}.ffn.{index}.output" for index in range(count))]
    norms = [f"{name}.attention_norm", *(f"{name}.ffn.{index}.norm" for index in range(count))]
    readers = [*((f"{name}.ffn.{index}.intermediate",) for index in range(count)), readers_of_last]
    for index, (writer, norm, reader) in enumerate(zip(writers, norms, readers, strict=True)):
        yield Link(tensor=f"{name}.inner.{index + 1}", writers=(writer,), readers=reader, norm=norm)


def _words(network: Network) -> Iterator[Stream]:
    """Word vectors, if each of their channels is one row of their reader.

    A convolution sees zeros at both ends, so they cannot be shifted.
    """
    for reader in ("embedding_convolution", "embedding_projection"):
        kernel = network.tensors.get(f"{reader}.kernel")
        if kernel is not None and kernel.shape[-2] == network.config.embedding_size:
            yield [Link(tensor="words", writers=("word_embedding",), readers=(reader,), movable=False)]


def _outer(network: Network) -> Stream:
    """The stream between the layers."""
    config, tensors = network.config, network.tensors
    parts = ("embedding_convolution", "embedding_projection", "segment_embedding", "position_embedding")
    writers = tuple(part for part in parts if part in tensors or f"{part}.kernel" in tensors)
    if not config.projects_embedding:
        writers = ("word_embedding", *writers)
    head = ("pooler",) if "pooler.kernel" in tensors else ("classifier",)
    found: Stream = []
    for number in range(config.num_layers + 1):
        name, last = f"layers.{number}", number == config.num_layers
        fixed = last and network.head.kind in WITHOUT_WEIGHTS
        readers = tuple(f"{name}.{part}" for part in config.input_readers)
        if last:
            readers = () if fixed else head
        before, norm = f"layers.{number - 1}", None
        if number and config.use_bottleneck:
            writers, norm = (f"{before}.bottleneck_output",), f"{before}.bottleneck_output_norm"
        elif number:
            *sums, end = _inner(network, before, ())
            found += sums
            writers, norm = end.writers, end.norm
        tensor = "output" if last else f"{name}.input"
        found.append(Link(tensor=tensor, writers=writers, readers=readers, norm=norm, fixed=fixed))
    return found
