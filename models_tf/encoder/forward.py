"""The forward pass of every BERT-like encoder: training, plain export and rewritten export all run this function.

Weights come in a table by name, and what is absent is not computed: a missing bias or norm does nothing, `<norm>.skip`
scales the skip path in place of a norm, `embedding_convolution` replaces trigrams and projection, and
`layers.N.fused_input` replaces all parts that read the layer's input and have no kernel of their own. A rewrite thus
only changes weights. A layer's number of heads and whether it has ghosts follow from its kernels. `retention.py`
chooses the tokens that a layer of PoWER-BERT keeps, `relative.py` adds to the scores of MPNet, `disentangled.py` to
those of DeBERTa.

Activations between dense layers are [batch * time, channel]: every runtime's int8 kernels take two axes.

Time may be unknown while the function is traced. If the batch is known then, all shapes are constants with one -1 and
positions are looked up, so that TFLite can resize the graph and still plans its memory ahead; if both are unknown,
shapes are computed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from models_tf.encoder import disentangled, heads, pooling, relative, retention
from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.ghosts import Leading
from models_tf.encoder.heads import BASE, CLASSIFICATION, QUESTION_ANSWERING, Head
from models_tf.encoder.network import Form
from models_tf.encoder.parts import Parts, activate
from models_tf.layers.dropout import Draws
from models_tf.spec import EMBEDDING, END_LOGITS, HIDDEN, LOGITS, POOLED, START_LOGITS

# Called with the name of an inner tensor and its values [..., channel]; see `rewrites/ranges.py`.
Observer = Callable[[str, tf.Tensor], None]
# Called with a layer's name and the output of its heads, [batch * time, heads * size]; returns what to use instead.
ContextChange = Callable[[str, tf.Tensor], tf.Tensor]
# PyTorch adds this to the scores of padding; after the softmax they are exactly zero.
EXACT_MASK = float(tf.float32.min)


@dataclass
class Activations:
    """What one run computed.

    - `hidden_states` [batch, time, hidden]: the outputs of the embedding and of each layer.
    - `scores` [batch, head, query, key]: of each layer, with what relative positions add, before the mask is added.
    - `mask_bias` [batch, 1, 1, key]: what is added; after tokens were dropped, for the remaining ones.
    - `significance` [batch, token] and `places` [batch, token kept], for layers that drop tokens or could: what tokens
      are ranked by, and where in the text the kept ones stood. The first token comes first, the rest in any order.
    """

    outputs: dict[str, tf.Tensor] = field(default_factory=dict)
    hidden_states: list[tf.Tensor] = field(default_factory=list)
    scores: list[tf.Tensor] = field(default_factory=list)
    mask_bias: tf.Tensor = None
    significance: list[tf.Tensor] = field(default_factory=list)
    places: list[tf.Tensor] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is asked of a run besides the outputs.

    - `form`: of the weights.
    - `mask_value`: added to the scores of padding.
    - `draws`: as in training, with dropout.
    - `observe`: is shown inner tensors.
    - `alter_context`: changes what the heads give.
    - `soft_retention` (per layer, a factor for each rank) weakens tokens by rank instead of dropping them.
    """

    form: Form = field(default_factory=Form)
    mask_value: float = EXACT_MASK
    draws: Draws | None = None
    observe: Observer | None = None
    alter_context: ContextChange | None = None
    soft_retention: Sequence[tf.Tensor] | None = None


def run(
    config: EncoderConfig,
    head: Head,
    table: Mapping[str, Any],
    *,
    ids: tf.Tensor,
    mask: tf.Tensor,
    segments: tf.Tensor | None = None,
    options: Options | None = None,
) -> Activations:
    """int32 `ids`, `mask` (1: token, 0: padding) and `segments`, [batch, time] each."""
    return _Pass(config, head, table, options or Options())(ids, mask, segments)


@dataclass(frozen=True, kw_only=True)
class _Layer:
    """What the parts of one layer read. `reach`: how many leading tokens it must compute (None: all)."""

    name: str
    input: tf.Tensor
    fused: Mapping[str, tf.Tensor]
    reach: int | None


class _Pass:
    """One run: the weights, the settings, and what is collected along the way."""

    def __init__(self, config: EncoderConfig, head: Head, table: Mapping[str, Any], options: Options) -> None:
        self.config, self.head, self.table, self.options = config, head, table, options
        self.parts = Parts(config, table, options.draws)
        self.see = options.observe or _ignore
        self.found = Activations()

    def __call__(self, ids: tf.Tensor, mask: tf.Tensor, segments: tf.Tensor | None) -> Activations:
        self.lead, self.time = self._lead_and_time(ids)
        # The content of padding must not matter, but the trigram of the last token sees it.
        pad = self.config.pad_id
        ids = ids * mask if pad == 0 else ids * mask + pad * (1 - mask)
        self.batch = ids.shape[0] or tf.shape(ids)[0]
        self.real = tf.cast(mask, self.table["word_embedding"].dtype)
        self.mask_bias = self.found.mask_bias = self._bias()
        self.relative_bias = self._relative_bias(ids, mask) if "relative_attention_bias" in self.table else None
        if self._ranks_tokens:
            self.ranking = retention.Ranking(self.config, self.real, self.time)
        x = self._embed(ids, mask, segments)
        self._keep(x)
        last = self.config.num_layers - 1
        for layer in range(self.config.num_layers):
            x = self._layer(layer, x, first_only=self.options.form.first_token_only and layer == last)
            if not (self.options.form.first_token_only and layer == last):
                self._keep(x)
        self.see("output", x)
        self.found.outputs = self._answer(x)
        return self.found

    @property
    def _ranks_tokens(self) -> bool:
        return bool(self.config.retention) or self.options.soft_retention is not None

    def _lead_and_time(self, ids: tf.Tensor) -> tuple[int, Any]:
        """The first two sizes of a reshape to [batch, time, ...]: at most one is -1, and time may be a tensor."""
        batch, time = ids.shape
        if time is not None:
            return -1, time
        # Ranking, training and DeBERTa's attention need the number of tokens itself.
        if self._ranks_tokens or self.options.draws is not None or self.config.position_attention:
            return -1, tf.shape(ids)[1]
        # Shapes in ONNX are of 64 bits: others would be cast.
        return (-1, tf.shape(ids, tf.int64)[1]) if batch is None else (batch, -1)

    def _bias(self) -> tf.Tensor:
        return tf.reshape((1.0 - self.real) * self.options.mask_value, (self.lead, 1, 1, self.time))

    def _keep(self, x: tf.Tensor) -> None:
        self.found.hidden_states.append(tf.reshape(x, (self.lead, self.time, x.shape[-1])))

    def _positions(self, ids: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """[time, channel], or [batch, time, channel] if they are looked up."""
        table = self.table["position_embedding"]
        if self.lead != -1:
            return tf.gather(table, _counted(mask))
        return table if table.shape[0] == ids.shape[1] else table[: self.time]

    def _relative_bias(self, ids: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """[head, query, key]"""
        places = tf.range(ids.shape[1] or tf.shape(ids)[1]) if self.lead == -1 else _counted(mask)[0]
        longest = self.table["position_embedding"].shape[0]
        return relative.score_bias(self.table["relative_attention_bias"], places, longest)

    def _embed(self, ids: tf.Tensor, mask: tf.Tensor, segments: tf.Tensor | None) -> tf.Tensor:
        words, size = tf.gather(self.table["word_embedding"], ids), self.config.embedding_size
        if "embedding_convolution.kernel" in self.table:
            words = tf.reshape(words, (self.lead, 1, self.time, size))  # an image of height one
            words = tf.nn.conv2d(words, self.table["embedding_convolution.kernel"], strides=1, padding="SAME")
        elif self.config.projects_embedding:
            if self.config.trigram:
                later = tf.pad(words[:, 1:], ((0, 0), (0, 1), (0, 0)))
                earlier = tf.pad(words[:, :-1], ((0, 0), (1, 0), (0, 0)))
                words = tf.concat((later, words, earlier), -1)
            if not (self.config.norm_before_projection or self.config.sum_before_projection):
                words = self.parts.dense("embedding_projection", tf.reshape(words, (-1, words.shape[-1])))
        width = words.shape[-1]
        x = tf.reshape(words, (self.lead, self.time, width))
        if "position_embedding" in self.table:
            x += self._positions(ids, mask)
        if "segment_embedding" in self.table:
            table = self.table["segment_embedding"]
            x += table[0] if table.shape[0] == 1 else tf.gather(table, segments)
        x = tf.reshape(x, (-1, width))
        if self.config.sum_before_projection:
            x = self.parts.dense("embedding_projection", x)
        x = self.parts.norm("embedding_norm", x, self.config.outer_norm_epsilon)
        x = self.parts.dropout(x, self.config.hidden_dropout)
        return self.parts.dense("embedding_projection", x) if self.config.norm_before_projection else x

    def _layer(self, number: int, x: tf.Tensor, *, first_only: bool) -> tf.Tensor:
        config, name = self.config, self.config.weights_of(number)
        self.see(f"{name}.input", x)
        # A ghost also reads neighbours, so the first token needs this many tokens at attention and at the FFN.
        reach, reach_ffn = self._reach(name)
        layer = _Layer(name=name, input=x, fused=self._fused_inputs(name, x), reach=reach if first_only else None)
        taken, taken_ffn = (self._at_most(reach), self._at_most(reach_ffn)) if first_only else (self.time, self.time)
        real, real_ffn = (self.real[:, :reach], self.real[:, :reach_ffn]) if first_only else (self.real, self.real)
        skip = self._reached(layer, x)
        inner, skip_inner = self._bottlenecks(layer, skip) if config.use_bottleneck else ({}, skip)
        query = self._project_first(layer, "query", inner, skip) if first_only else self._project(layer, "query", inner)
        key, value = self._project(layer, "key", inner), self._project(layer, "value", inner)
        base = inner["bottleneck"] if config.use_bottleneck_attention and config.use_bottleneck else skip_inner
        for part, values in (("inner.0", base), ("query", query), ("key", key), ("value", value)):
            self.see(f"{name}.{part}", values)
        context, kept = self._attend(number, query, key, value, taken, first_only=first_only)
        if kept is not None:
            skip_inner = self._go_on(skip_inner, kept)
            taken = taken_ffn = self.time
            real = real_ffn = self.real
        if self.options.alter_context is not None:
            context = self.options.alter_context(name, context)
        out = self._with_ghosts(f"{name}.attention_output", f"{name}.ghost_heads", context, real, taken)
        if not config.use_bottleneck:
            out = self.parts.dropout(out, config.hidden_dropout)
        h = self.parts.add_norm(f"{name}.attention_norm", out, skip_inner, config.norm_epsilon)
        if self.options.soft_retention is not None and not first_only:
            h *= tf.reshape(self.ranking.factors(self.options.soft_retention[number]), (-1, 1))
        self.see(f"{name}.inner.1", h)
        if first_only and reach != reach_ffn:
            h = self._first(h, reach_ffn, taken)
        for ffn in range(config.num_ffn):
            h = self._ffn(name, ffn, h, real_ffn, taken_ffn)
            self.see(f"{name}.inner.{ffn + 2}", h)
        if not config.use_bottleneck:
            return self._first(h, 1, taken_ffn) if first_only and reach_ffn > 1 else h
        out = self.parts.dropout(self.parts.dense(f"{name}.bottleneck_output", h), config.hidden_dropout)
        return self.parts.add_norm(f"{name}.bottleneck_output_norm", out, skip, config.norm_epsilon)

    def _bottlenecks(self, layer: _Layer, skip: tf.Tensor) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
        """What the parts of a layer with bottlenecks read besides its input, by name; and the skip path inside it."""
        config, name, part = self.config, layer.name, "bottleneck_input"
        # If only the first token is needed, the skip path is computed for it alone, unless attention reads it.
        short = layer.reach is not None and not config.use_bottleneck_attention and self.parts.has_kernel(name, part)
        inner = self.parts.dense(f"{name}.{part}", skip) if short else self._read(layer, part)
        inner = self.parts.norm(f"{name}.{part}_norm", inner, config.norm_epsilon)
        found, skip_inner = {"bottleneck": inner}, inner if short else self._reached(layer, inner)
        if "bottleneck_shared" in config.input_readers:
            shared = self._read(layer, "bottleneck_shared")
            found["shared"] = self.parts.norm(f"{name}.bottleneck_shared_norm", shared, config.norm_epsilon)
            self.see(f"{name}.shared", found["shared"])
        return found, skip_inner

    def _project(self, layer: _Layer, part: str, inner: Mapping[str, tf.Tensor]) -> tf.Tensor:
        """Query, key or value of all tokens."""
        source = self.config.reads(part)
        return self._read(layer, part) if source == "input" else self.parts.dense(f"{layer.name}.{part}", inner[source])

    def _project_first(self, layer: _Layer, part: str, inner: Mapping[str, tf.Tensor], skip: tf.Tensor) -> tf.Tensor:
        """The same for the first tokens; `skip` is the layer's input for these."""
        source = self.config.reads(part)
        if source != "input":
            return self.parts.dense(f"{layer.name}.{part}", self._reached(layer, inner[source]))
        if self.parts.has_kernel(layer.name, part):
            return self.parts.dense(f"{layer.name}.{part}", skip)
        return self._reached(layer, self._read(layer, part))

    def _reached(self, layer: _Layer, values: tf.Tensor) -> tf.Tensor:
        """The rows of the tokens that the layer must compute."""
        return values if layer.reach is None else self._first(values, layer.reach)

    def _read(self, layer: _Layer, part: str) -> tf.Tensor:
        """A part that reads the layer's input, from its own kernel or from the fused one."""
        return layer.fused[part] if part in layer.fused else self.parts.dense(f"{layer.name}.{part}", layer.input)

    def _fused_inputs(self, name: str, x: tf.Tensor) -> dict[str, tf.Tensor]:
        """The parts that read the layer's input through the fused kernel."""
        if f"{name}.fused_input.kernel" not in self.table:
            return {}
        parts = [part for part in self.config.input_readers if not self.parts.has_kernel(name, part)]
        fused = tf.split(self.parts.dense(f"{name}.fused_input", x), len(parts), -1)
        return dict(zip(parts, fused, strict=True))

    def _reach(self, name: str) -> tuple[int, int]:
        """How many leading tokens attention and FFN of the last layer must compute to get the first one right."""
        side = self.config.ghost_kernel // 2
        folds = side if self.parts.ghosts(f"{name}.ghost_folds") else 0
        heads = side if self.parts.ghosts(f"{name}.ghost_heads") else 0
        return 1 + folds + heads, 1 + folds

    def _at_most(self, tokens: int) -> Any:
        """That many tokens, or all if there are fewer, as the size of a reshape; -1 stays -1."""
        if tokens == 1:
            return 1
        if isinstance(self.time, int):
            return min(tokens, self.time)
        return tf.minimum(tf.constant(tokens, self.time.dtype), self.time)

    def _ffn(self, layer: str, number: int, h: tf.Tensor, real: tf.Tensor, taken: Any) -> tf.Tensor:
        name, last = f"{layer}.ffn.{number}", number == self.config.num_ffn - 1
        middle = self.parts.activation(self.parts.dense(f"{name}.intermediate", h))
        self.see(f"{name}.middle", middle)
        out = self._with_ghosts(f"{name}.output", f"{layer}.ghost_folds", middle, real, taken)
        if not self.config.use_bottleneck:
            out = self.parts.dropout(out, self.config.hidden_dropout)
        epsilon = self.config.outer_norm_epsilon if last else self.config.norm_epsilon
        return self.parts.add_norm(f"{name}.norm", out, h, epsilon)

    def _with_ghosts(self, name: str, ghost: str, x: tf.Tensor, real: tf.Tensor, taken: Any) -> tf.Tensor:
        """A dense layer with its ghosts, on the first `taken` tokens; `real` is that of these."""
        return self.parts.dense_with_ghosts(name, ghost, x, Leading(real=real, shape=(self.lead, taken)))

    def _attend(
        self, layer: int, query: tf.Tensor, key: tf.Tensor, value: tf.Tensor, queries: Any, *, first_only: bool
    ) -> tuple[tf.Tensor, tf.Tensor | None]:
        """The output of the heads, [batch * time, heads * size], and which tokens are kept if some are dropped."""
        by_head, keys = self._heads(query, queries), self._heads(key, self.time)
        scores = tf.matmul(by_head, keys, transpose_b=True)
        if self.config.position_attention:
            scores += disentangled.position_scores(
                self.config,
                self.parts,
                self.config.weights_of(layer),
                query=by_head,
                key=keys,
                queries=queries,
                time=self.time,
            )
        if not self.options.form.scaled_query:
            scores *= self.config.score_factor
        if self.relative_bias is not None:
            scores += self.relative_bias[:, :queries] if first_only else self.relative_bias
        self.found.scores.append(scores)
        weights = tf.nn.softmax(scores + self.mask_bias)
        kept = None
        if self._ranks_tokens and not first_only:
            kept = self.ranking.choose(layer, weights)
            self.found.significance.append(self.ranking.significance)
            self.found.places.append(
                self.ranking.places if kept is None else tf.gather(self.ranking.places, kept, batch_dims=1)
            )
        weights = self.parts.dropout(weights, self.config.attention_dropout)
        if kept is not None:  # before the product with the values: only these rows are needed
            weights = retention.pick(weights, kept, self.batch)
        context = tf.matmul(weights, self._heads(value, self.time))
        return self._tokens(context, query.shape[-1]), kept

    def _heads(self, x: tf.Tensor, time: Any) -> tf.Tensor:
        """[batch, head, time, size]"""
        size, heads = self.config.head_size, x.shape[-1] // self.config.head_size
        if heads == 1:  # nothing to transpose; tf2onnx would turn that into a reshape which is wrong if time is open
            return tf.reshape(x, (self.lead, 1, time, size))
        return tf.transpose(tf.reshape(x, (self.lead, time, heads, size)), (0, 2, 1, 3))

    def _tokens(self, x: tf.Tensor, width: int) -> tf.Tensor:
        """[batch * time, channel] of what is [batch, head, time, size]."""
        return tf.reshape(x if width == self.config.head_size else tf.transpose(x, (0, 2, 1, 3)), (-1, width))

    def _go_on(self, x: tf.Tensor, kept: tf.Tensor) -> tf.Tensor:
        """The rows of `x` that were kept; all later steps see only these."""
        x = retention.pick(tf.reshape(x, (-1, 1, self.time, x.shape[-1])), kept, self.batch)
        self.ranking.drop(kept, self.batch)
        self.real, self.time = self.ranking.real, self.ranking.time
        self.mask_bias = self._bias()
        return tf.reshape(x, (-1, x.shape[-1]))

    def _answer(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        head, hidden = self.head, self.config.hidden_size
        if head.kind == heads.EMBEDDING:
            return {EMBEDDING: self._embedding(x)}
        if head.kind in (BASE, CLASSIFICATION):
            if not self.config.pools(head):
                return {HIDDEN: tf.reshape(x, (self.lead, self.time, hidden))}
            pooled = x if self.options.form.first_token_only else self._first(x)
            if "pooler.kernel" in self.table:
                pooled = activate(self.config.pooler_activation, self.parts.dense("pooler", pooled))
            if head.kind == BASE:
                return {HIDDEN: tf.reshape(x, (self.lead, self.time, hidden)), POOLED: pooled}
            return {LOGITS: self.parts.dense("classifier", self.parts.dropout(pooled, self.config.hidden_dropout))}
        logits = self.parts.dense("classifier", self.parts.dropout(x, self.config.hidden_dropout))
        logits = tf.reshape(logits, (self.lead, self.time, head.num_labels))
        if head.kind == QUESTION_ANSWERING:
            start, end = tf.unstack(logits, axis=-1)
            return {START_LOGITS: start, END_LOGITS: end}
        return {LOGITS: logits}

    def _embedding(self, x: tf.Tensor) -> tf.Tensor:
        """One vector for each text."""
        if self.head.pooling == heads.CLS:
            found = x if self.options.form.first_token_only else self._first(x)
        else:
            rows = tf.reshape(x, (self.lead, self.time, x.shape[-1]))
            real = tf.reshape(self.real, (self.lead, self.time, 1))
            found = pooling.pool(str(self.head.pooling), rows, real, scaled=not self.head.normalize)
        return pooling.unit_length(found) if self.head.normalize else found

    def _first(self, x: tf.Tensor, count: int = 1, time: Any = None) -> tf.Tensor:
        """The rows of the first tokens, [batch * count, channel]; `time` is the number of tokens."""
        rows = tf.reshape(x, (self.lead, self.time if time is None else time, x.shape[-1]))
        return rows[:, 0] if count == 1 else tf.reshape(rows[:, :count], (-1, x.shape[-1]))


def _counted(mask: tf.Tensor) -> tf.Tensor:
    """0, 1, 2 and so on in the shape of the input.

    `range` and a slice up to the length give TFLite tensors whose size it learns only while it runs, and XNNPACK takes
    none of what follows.
    """
    return tf.cumsum(tf.maximum(mask, 1), 1, exclusive=True)


def _ignore(name: str, values: tf.Tensor) -> None:
    """No observer."""
