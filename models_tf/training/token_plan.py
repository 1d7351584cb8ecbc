"""Which stages a token model is trained in, what each of them learns, and its optimizer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from models_tf.checkpoints.encoder import EncoderCheckpoint
from models_tf.encoder.model import Encoder
from models_tf.tasks.rows import TaskRows
from models_tf.training.adamw import AdamW
from models_tf.training.inner_distillation import InnerDistillation
from models_tf.training.movement import SCORE, Movement
from models_tf.training.power import PARAMETERS, RetentionSearch, SearchOptimizer
from models_tf.training.schedule import InPhases
from models_tf.training.stage import MAIN_STAGE, Batches, Stage
from models_tf.training.task_batches import TaskBatches
from models_tf.training.token_settings import TokenSettings
from models_tf.training.token_stages import DistillStage, FinalStage, SearchStage, TaskStage, TransferStage
from models_tf.training.transfer import Transfer
from models_tf.training.transfer_settings import NONE
from models_tf.training.unlabelled import Taught, UnlabelledBatches
from models_tf.training.windows import WindowedBatches, WindowedRows

TRANSFER_STAGE = "transfer"
DISTILL_STAGE = "distill"  # on rows without labels
TUNING_STAGE, SEARCH_STAGE = "fine-tune", "search"  # of PoWER-BERT, before tokens are dropped
PRUNING_STAGE = "movement"  # until the final sparsity is reached
# What stays as it is with --freeze-embedding.
_EMBEDDING = ("word_embedding", "position_embedding", "segment_embedding", "embedding_")
# A ghost's kernel goes through a softmax: at the learning rate of weights its logits would hardly move.
_GHOST_PACE = 100.0

Weights = Mapping[str, tf.Variable]
Paces = Callable[[tf.Tensor], Mapping[str, tuple[Any, tf.Tensor]]]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The `stages` in order; the model of the `main` one is kept. `state` is what they learn or hold besides the
    model's weights.
    """

    stages: list[Stage]
    main: FinalStage
    state: list[tf.Variable]


class _Planner:
    """What the stages share: the model with its weights that are `own` and learn, a teacher, the labelled rows."""

    def __init__(self, model: Encoder, teacher: Encoder | None, data: Batches, settings: TokenSettings) -> None:
        self.model, self.teacher, self.data, self.settings = model, teacher, data, settings
        frozen = _EMBEDDING if settings.frozen_embedding else ()
        self.own = {name: weight for name, weight in model.table.items() if not name.startswith(frozen)}

    def transfer(self) -> TransferStage | None:
        """The teacher's inner states first."""
        settings, model = self.settings, self.model
        if self.teacher is None or settings.transfer == NONE:
            return None
        transfer = Transfer(
            model.config,
            self.teacher.config,
            kind=settings.transfer,
            settings=settings.transfer_settings,
            steps=settings.transfer_epochs * settings.updates(self.data.steps_per_epoch),
            seed=settings.seed,
        )
        weights = {**model.table, **transfer.maps}
        rate = settings.transfer_settings.learning_rate or settings.learning_rate
        return TransferStage(
            name=TRANSFER_STAGE,
            epochs=settings.transfer_epochs,
            data=self.data,
            optimizer=self._adam(
                weights,
                rate,
                self.data,
                settings.transfer_epochs,
                paces=lambda step: transfer.paces(list(weights), step),
            ),
            trained=[*self.own.values(), *transfer.maps.values()],
            model=model,
            teacher=self.teacher,
            transfer=transfer,
        )

    def distill(self, unlabelled: Taught) -> DistillStage:
        """The teacher's tags of texts without labels."""
        settings = self.settings
        data = UnlabelledBatches(unlabelled, batch_size=settings.batch_size, seed=settings.seed)
        rate = settings.distill_learning_rate or settings.learning_rate
        return DistillStage(
            name=DISTILL_STAGE,
            epochs=settings.distill_epochs,
            data=data,
            optimizer=self._adam(self.own, rate, data, settings.distill_epochs),
            trained=list(self.own.values()),
            model=self.model,
            temperature=settings.temperature,
        )

    def task(self) -> tuple[list[Stage], FinalStage]:
        """PoWER-BERT's first phases, pruning until the final sparsity, and the main stage: with one optimizer."""
        settings, data = self.settings, self.data
        inner, movement, search = self._inner(), self._movement(), self._search()
        learning = {**self.own, **(inner.maps if inner else {}), **(movement.scores if movement else {})}
        learning |= {PARAMETERS: search.parameters} if search else {}
        tuning = settings.power.fine_tune_epochs if settings.power else 0
        searching = settings.power.search_epochs if settings.power and search else 0
        # Epochs before the final sparsity, with more weights than the final model, would win: no valid result.
        pruning = movement.epochs_to_final(settings.updates(data.steps_per_epoch)) if movement else 0
        paces = _paces(learning, settings, search)
        adam = self._adam(learning, settings.learning_rate, data, tuning, searching, settings.epochs, paces=paces)
        shared: dict[str, Any] = {
            "data": data,
            "trained": list(learning.values()),
            "model": self.model,
            "settings": settings,
            "inner": inner,
            "teacher": self.teacher,
        }
        final = {**shared, "optimizer": adam, "search": search, "movement": movement}
        stages: list[Stage] = [TaskStage(name=TUNING_STAGE, epochs=tuning, optimizer=adam, **shared)]
        if search:
            both = SearchOptimizer(adam, search)
            stages.append(SearchStage(name=SEARCH_STAGE, epochs=searching, optimizer=both, search=search, **shared))
        stages.append(FinalStage(name=PRUNING_STAGE, epochs=pruning, **final))
        return stages, FinalStage(name=MAIN_STAGE, epochs=settings.epochs - pruning, judged=True, **final)

    def _inner(self) -> InnerDistillation | None:
        settings = self.settings
        if self.teacher is None or not settings.reads_inside:
            return None
        return InnerDistillation(
            self.model.config,
            self.teacher.config,
            hidden_weight=settings.hidden_weight,
            attention_weight=settings.attention_weight,
            seed=settings.seed,
        )

    def _movement(self) -> Movement | None:
        settings = self.settings
        steps = settings.epochs * settings.updates(self.data.steps_per_epoch)
        return Movement(self.model.table, settings.movement, steps) if settings.movement else None

    def _search(self) -> RetentionSearch | None:
        """None if no tokens are dropped, or if their numbers are given."""
        power, config = self.settings.power, self.model.config
        if power is None or not power.search_epochs or config.retention:
            return None
        updates = self.settings.updates(self.data.steps_per_epoch)
        start, steps = power.fine_tune_epochs * updates, power.search_epochs * updates
        return RetentionSearch(config.num_layers, self.settings.max_seq_len, power, start=start, steps=steps)

    def _adam(self, weights: Weights, rate: float, data: Batches, *epochs: int, paces: Paces | None = None) -> AdamW:
        """`epochs`: of each phase; the rate rises and falls once per phase."""
        settings = self.settings
        return AdamW(
            weights,
            InPhases(rate, settings.warmup, [count * settings.updates(data.steps_per_epoch) for count in epochs]),
            weight_decay=settings.weight_decay,
            clip_norm=settings.clip_norm,
            paces=paces,
            frozen_rows={"word_embedding": self.model.config.pad_id},
        )


def make_plan(
    model: Encoder,
    rows: TaskRows,
    *,
    settings: TokenSettings,
    soft: Mapping[str, Any],
    teacher: EncoderCheckpoint | None,
    unlabelled: Taught | None,
    windowed: WindowedRows | None = None,
) -> Plan:
    """`soft` are the teacher's outputs on the `rows`, by name; `unlabelled` is learned before the `rows`.

    With `windowed` rows to learn from, the `rows` are some of them.
    """
    how: dict[str, Any] = {"batch_size": settings.batch_size, "seed": settings.seed}
    how["soft_places"] = not model.head.reads_pooled
    data = WindowedBatches(windowed, rows, soft, **how) if windowed else TaskBatches(rows, soft, **how)
    theirs = None
    if teacher is not None and (settings.transfer != NONE or settings.reads_inside):
        theirs = Encoder(teacher.config, teacher.head, teacher.tensors)
    planner = _Planner(model, theirs, data, settings)
    phases, main = planner.task()
    transfer = planner.transfer()
    distill = planner.distill(unlabelled) if unlabelled is not None else None
    before = [stage for stage in (transfer, distill) if stage is not None]
    # The order in which a stopped training has stored them.
    state = list(main.trained[len(planner.own) :])
    state += transfer.transfer.maps.values() if transfer else ()
    state += main.movement.held if main.movement else ()
    state += [variable for stage in (main, *before) for variable in stage.optimizer.variables]
    return Plan(stages=[stage for stage in (*before, *phases, main) if stage.epochs], main=main, state=state)


def _paces(learning: Weights, settings: TokenSettings, search: RetentionSearch | None) -> Paces | None:
    """Factors of learning rates, where there are ghosts, scores or a search."""
    if search:
        return lambda step: {PARAMETERS: search.pace(settings.learning_rate, step)}
    factors = {name: _GHOST_PACE for name in learning if ".ghost_" in name and name.endswith(".kernel")}
    if settings.movement:
        pace = settings.movement.score_rate / settings.learning_rate
        factors |= {name: pace for name in learning if name.endswith(SCORE)}
    return (lambda step: {name: (factor, step) for name, factor in factors.items()}) if factors else None
