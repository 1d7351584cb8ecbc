"""How token models learn a task: from labels, from a teacher's precomputed logits, and from its inner states.

Includes movement pruning and PoWER-BERT's search, if asked for.
"""

import dataclasses
import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from models_tf.checkpoints import encoder as checkpoint
from models_tf.checkpoints.atomic_files import write_files
from models_tf.checkpoints.encoder import EncoderCheckpoint
from models_tf.checkpoints.folder import CONFIG_FILE, RECORD_FILE, TRAINING_FILE
from models_tf.checkpoints.json_text import parse_json
from models_tf.checkpoints.weights import WEIGHTS_FILE
from models_tf.encoder.batches import INPUTS, Predictor, activations, lengths_of
from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.model import Encoder
from models_tf.spec import MASK
from models_tf.tasks.losses import task_loss, teacher_loss
from models_tf.tasks.rows import TaskRows
from models_tf.tokenizers.files import TOKENIZER_FILES
from models_tf.training.adamw import AdamW
from models_tf.training.batches import like_length
from models_tf.training.folder import TrainingFolder
from models_tf.training.inner_distillation import InnerDistillation
from models_tf.training.learner import MAIN_STAGE, Measured, Optimizer
from models_tf.training.movement import SCORE, Movement
from models_tf.training.power import PARAMETERS, RetentionSearch, SearchOptimizer
from models_tf.training.schedule import InPhases
from models_tf.training.token_settings import TokenSettings
from models_tf.training.transfer import Transfer
from models_tf.training.transfer_settings import NONE
from models_tf.training.unlabelled import Distillation, Taught

OUTPUT_FILES = (CONFIG_FILE, WEIGHTS_FILE, *TOKENIZER_FILES, TRAINING_FILE, RECORD_FILE)
TRANSFER_STAGE = "transfer"
DISTILL_STAGE = "distill"  # on rows without labels
PRUNING_STAGE = "movement"  # until the final sparsity is reached
TUNING_STAGE, SEARCH_STAGE = "fine-tune", "search"  # of PoWER-BERT, before tokens are dropped
_TARGET, _SOFT = "target:", "soft:"
# What stays as it is with --freeze-embedding.
_EMBEDDING = ("word_embedding", "position_embedding", "segment_embedding", "embedding_")
# A ghost's kernel goes through a softmax: at the learning rate of weights its logits would hardly move.
_GHOST_PACE = 100.0


class TokenLearner:
    """A `Learner`; it writes a folder in Hugging Face format, and `training.json`."""

    def __init__(
        self,
        student: EncoderCheckpoint,
        train: TaskRows,
        dev: TaskRows,
        *,
        settings: TokenSettings,
        folder: TrainingFolder,
        command: str,
        soft: Mapping[str, np.ndarray] | None = None,
        teacher: EncoderCheckpoint | None = None,
        unlabelled: Taught | None = None,
        beside: Mapping[str, bytes] | None = None,
        note: Callable[[str], None] | None = None,
    ) -> None:
        """`soft` are a teacher's outputs on the rows of `train`, by name; `teacher` is needed for its inner states.

        The `unlabelled` words are learned before the rows of `train`. Files `beside` are written with every checkpoint.
        `note` is called with what a search found.
        """
        self.student, self.train, self.dev = student, train, dev
        self.settings, self.folder, self.command, self.soft = settings, folder, command, dict(soft or {})
        self.beside, self.note = dict(beside or {}), note
        self.model = Encoder(student.config, student.head, student.tensors)
        self.lengths = lengths_of(train.inputs)
        self.steps_per_epoch = math.ceil(len(train) / settings.batch_size)
        self.weights = list(self.model.table.values())
        frozen = _EMBEDDING if settings.frozen_embedding else ()
        learning = {name: weight for name, weight in self.model.table.items() if not name.startswith(frozen)}
        transfer_epochs = 0
        self.transfer: Transfer | None = None
        self.inner: InnerDistillation | None = None
        self.movement: Movement | None = None
        if teacher is not None and (settings.transfer != NONE or settings.reads_inside):
            self.teacher = Encoder(teacher.config, teacher.head, teacher.tensors)
        if teacher is not None and settings.reads_inside:
            self.inner = InnerDistillation(
                student.config,
                teacher.config,
                hidden_weight=settings.hidden_weight,
                attention_weight=settings.attention_weight,
                seed=settings.seed,
            )
            learning |= self.inner.maps
        if settings.movement:
            self.movement = Movement(self.model.table, settings.movement, settings.epochs * self.steps_per_epoch)
            learning |= self.movement.scores
        self._prepare_search(learning)
        self.trained = list(learning.values())
        phases = (self.tuning_epochs, self.search_epochs, settings.epochs)
        self.optimizers = {
            MAIN_STAGE: self._adam(
                learning, settings.learning_rate, *phases, paces=_paces(learning, settings, self.search)
            )
        }
        if teacher is not None and settings.transfer != NONE:
            transfer_epochs = settings.transfer_epochs
            self._prepare_transfer(teacher, transfer_epochs)
        self.transfer_epochs = transfer_epochs
        self.distillation = self._prepare_distillation(unlabelled, learning)
        self.epochs_before = transfer_epochs + (self.distillation.epochs if self.distillation else 0)
        self.epochs = self.epochs_before + sum(phases)
        own = {variable.ref() for variable in self.weights}
        more = [variable for variable in self.trained if variable.ref() not in own]
        more += self.movement.held if self.movement else []
        self.state = [*more, *(variable for adam in self.optimizers.values() for variable in adam.variables)]
        self.predict = Predictor(self.model, self._table)

    def _prepare_search(self, learning: dict[str, tf.Variable]) -> None:
        """PoWER-BERT's first phases: all tokens, then the search for the tokens to keep, unless they are given."""
        power, config = self.settings.power, self.student.config
        self.search: RetentionSearch | None = None
        self.tuning_epochs, self.search_epochs = power.fine_tune_epochs if power else 0, 0
        if power and power.search_epochs and not config.retention:
            self.search_epochs = power.search_epochs
            start, steps = (epochs * self.steps_per_epoch for epochs in (self.tuning_epochs, self.search_epochs))
            length = self.settings.max_seq_len
            self.search = RetentionSearch(config.num_layers, length, power, start=start, steps=steps)
            learning[PARAMETERS] = self.search.parameters

    def _use_retention(self, stage: str) -> None:
        """Sets what the model drops in `stage`: what was given or found in the main one, nothing before it."""
        if self.settings.power is None:
            return
        config = self.student.config
        lengths = config.retention
        if stage in (TUNING_STAGE, SEARCH_STAGE):
            lengths = ()
        elif self.search is not None:
            lengths = self.search.lengths()
            if self.note and lengths != self.model.config.retention:
                self.note(f"found: of {self.settings.max_seq_len} tokens the layers keep {' '.join(map(str, lengths))}")
        self.model.config = EncoderConfig(**{**config.to_dict(), "retention": lengths})

    def _prepare_transfer(self, teacher: EncoderCheckpoint, epochs: int) -> None:
        settings, steps = self.settings, epochs * self.steps_per_epoch
        transfer = Transfer(
            self.model.config,
            teacher.config,
            kind=settings.transfer,
            settings=settings.transfer_settings,
            steps=steps,
            seed=settings.seed,
        )
        weights = {**self.model.table, **transfer.maps}
        rate = settings.transfer_settings.learning_rate or settings.learning_rate
        adam = self._adam(weights, rate, epochs, paces=lambda step: transfer.paces(list(weights), step))
        self.transfer, self.optimizers[TRANSFER_STAGE] = transfer, adam
        self.trained += transfer.maps.values()

    def _prepare_distillation(
        self, unlabelled: Taught | None, learning: Mapping[str, tf.Variable]
    ) -> Distillation | None:
        if unlabelled is None:
            return None
        settings = self.settings
        found = Distillation(
            unlabelled,
            batch_size=settings.batch_size,
            epochs=settings.distill_epochs,
            temperature=settings.temperature,
            seed=settings.seed,
        )
        weights = {name: weight for name, weight in learning.items() if name in self.model.table}
        rate = settings.distill_learning_rate or settings.learning_rate
        self.optimizers[DISTILL_STAGE] = self._adam(weights, rate, found.epochs, steps_per_epoch=found.steps_per_epoch)
        return found

    def _adam(
        self,
        weights: Mapping[str, tf.Variable],
        rate: float,
        *epochs: int,
        steps_per_epoch: int | None = None,
        **more: Any,
    ) -> AdamW:
        """`epochs`: of each phase; the rate rises and falls once per phase."""
        settings, steps = self.settings, steps_per_epoch or self.steps_per_epoch
        schedule = InPhases(rate, settings.warmup, [count * steps for count in epochs])
        return AdamW(
            weights,
            schedule,
            weight_decay=settings.weight_decay,
            clip_norm=settings.clip_norm,
            frozen_rows={"word_embedding": self.student.config.pad_id},
            **more,
        )

    def _table(self) -> Mapping[str, Any]:
        """The weights in use: masked ones with movement pruning."""
        return self.movement.table(self.model.table) if self.movement else self.model.table

    def stage(self, epoch: int) -> str:
        if epoch < self.transfer_epochs:
            return TRANSFER_STAGE
        if epoch < self.epochs_before:
            return DISTILL_STAGE
        past = epoch - self.epochs_before
        if past < self.tuning_epochs + self.search_epochs:
            return TUNING_STAGE if past < self.tuning_epochs else SEARCH_STAGE
        # An earlier epoch, with more weights than the final model, would win but is not a valid result.
        steps = (epoch + 1 - self.epochs_before) * self.steps_per_epoch
        return PRUNING_STAGE if self.movement and not self.movement.is_final(steps) else MAIN_STAGE

    def steps_of(self, epoch: int) -> int:
        if self.distillation and self.stage(epoch) == DISTILL_STAGE:
            return self.distillation.steps_per_epoch
        return self.steps_per_epoch

    def optimizer(self, stage: str) -> Optimizer:
        if stage == SEARCH_STAGE and self.search is not None:
            return SearchOptimizer(self.optimizers[MAIN_STAGE], self.search)
        return self.optimizers[stage if stage in (TRANSFER_STAGE, DISTILL_STAGE) else MAIN_STAGE]

    def signature(self, stage: str) -> dict[str, tf.TensorSpec]:
        if self.distillation and stage == DISTILL_STAGE:
            return self.distillation.signature()
        arrays = self._arrays()
        return {
            name: tf.TensorSpec((None, None, *value.shape[2:])[: value.ndim] if places else (None, *value.shape[1:]),
                                tf.as_dtype(value.dtype))
            for name, (value, places) in arrays.items()
        }  # fmt: skip

    def batches(self, epoch: int, skip: int) -> Iterator[tuple[int, dict[str, tf.Tensor]]]:
        if self.distillation and self.stage(epoch) == DISTILL_STAGE:
            yield from self.distillation.batches(epoch, skip)
            return
        self._use_retention(self.stage(epoch))
        generator, arrays = np.random.default_rng((self.settings.seed, epoch)), self._arrays()
        for index, rows in enumerate(like_length(self.lengths, self.settings.batch_size, generator)):
            if index < skip:
                continue
            if self.movement and epoch >= self.epochs_before:
                self.movement.before_step(self._main_steps())
            length = int(self.lengths[rows].max())
            batch = {
                name: tf.constant(value[rows, :length] if places else value[rows])
                for name, (value, places) in arrays.items()
            }
            yield len(rows), batch

    def loss(self, stage: str, batch: dict[str, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        if stage == TRANSFER_STAGE:
            return self._transfer_loss(batch)
        if self.distillation and stage == DISTILL_STAGE:
            loss, alike = self.distillation.loss(self.model, batch)
            return loss, loss, alike
        settings, targets, soft = self.settings, _part(batch, _TARGET), _part(batch, _SOFT)
        whole = bool(settings.attention_weight)  # maps of all tokens, in the last layer too
        search = self.search if stage == SEARCH_STAGE else None
        found = activations(
            self.model,
            batch,
            training=True,
            whole=whole,
            table=self._table(),
            soft_retention=search.factors() if search else None,
        )
        outputs = found.outputs
        loss, hits = task_loss(settings.task, outputs, targets, settings.label_smoothing)
        if soft:
            taught = teacher_loss(settings.task, outputs, soft, targets, batch[MASK], temperature=settings.temperature)
            loss = (1.0 - settings.teacher_weight) * loss + settings.teacher_weight * taught
        if self.inner is not None:
            wanted = activations(self.teacher, batch, training=False, whole=whole or self.inner.reads_last)
            loss += self.inner.loss(found, wanted, batch[MASK])
        total = loss + self.movement.penalty() if self.movement and self.movement.penalized else loss
        return loss, total + search.penalty() if search else total, hits

    def evaluate(self) -> Measured:
        if self.movement:
            self.movement.refresh(self._main_steps())
        self.score = self.dev.score(self.predict(self.dev.inputs))
        # A correlation with a constant is not a number; it counts as the worst.
        value = self.score.value / 100 if math.isfinite(self.score.value) else -1.0
        return Measured(value=value, rows=self.score.n)

    def tensors(self) -> dict[str, np.ndarray]:
        tensors = self.model.tensors()
        return self.movement.bake(tensors) if self.movement else tensors

    def save(self, tensors: dict[str, np.ndarray], record: dict[str, Any]) -> None:
        best = checkpoint.with_tensors(dataclasses.replace(self.student, config=self.model.config), tensors)
        document = {
            "metric": self.score.metric,
            "dev_score": self.score.value,
            "dev_rows": self.score.n,
            "dev_standard_error": self.score.standard_error,
            "dev_more": dict(self.score.more),
            "best": record,
            **self.fingerprint(),
            "config": self.model.config.to_dict(),
            "command": self.command,
        }
        if self.movement:
            document["movement_kept"] = self.movement.kept()
        if self.model.config.retention:
            document["retention"] = self._retention()
        if self.score.exact_match is not None:
            document["dev_exact_match"] = self.score.exact_match

        def write(folder: Any) -> None:
            checkpoint.save(folder, best, beside=self.beside)
            self._write_document(document)

        self.folder.save_checkpoint(write)

    def finish(self, result: dict[str, Any]) -> dict[str, Any]:
        path = self.folder.path / TRAINING_FILE
        document = parse_json(path.read_bytes(), f"{path} must be JSON.")
        document |= {"best_epoch": result["best_epoch"], "epochs_run": result["epochs"], "seconds": result["seconds"]}
        self.folder.save_checkpoint(lambda _folder: self._write_document(document))
        kept = ("metric", "dev_score", "dev_rows", "dev_standard_error", "dev_more", "dev_exact_match", "movement_kept")
        return {**{key: document[key] for key in (*kept, "retention") if key in document}, **result}

    def fingerprint(self) -> dict[str, Any]:
        student = self.student
        return {
            "model": student.model_name,
            "config": student.config.to_dict(),
            "head": student.head.kind,
            "labels": student.labels,
            **self.settings.to_dict(),
        }

    def _retention(self) -> dict[str, Any]:
        """What training.json says about the kept tokens."""
        config, length = self.model.config, self.settings.max_seq_len
        lengths = list(config.retention)
        kept = sum(min(count, length) for count in lengths) / (length * len(lengths))
        found = {"masses": self.search.masses()} if self.search else {}
        return {"lengths": lengths, "by": config.retention_by, "share": kept, "searched": bool(self.search), **found}

    def _transfer_loss(self, batch: dict[str, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Without dropout, as in the paper's code."""
        if self.transfer is None:
            raise ValueError("A transfer needs a teacher. Received: none.")
        inputs = [batch[name] for name in INPUTS]
        student, teacher = self.model.activations(*inputs), self.teacher.activations(*inputs)
        loss = self.transfer.loss(student, teacher, batch[MASK], self.optimizers[TRANSFER_STAGE].iterations)
        return loss, loss, tf.constant(math.nan)

    def _main_steps(self) -> int:
        return int(self.optimizers[MAIN_STAGE].iterations.numpy())

    def _arrays(self) -> dict[str, tuple[np.ndarray, bool]]:
        """What a batch is cut from, and whether it has a place for each token."""
        found = {name: (self.train.inputs[name], True) for name in INPUTS}
        for name, value in (self.train.targets or {}).items():
            found[_TARGET + name] = (value, value.ndim > 1)
        for name, value in self.soft.items():
            found[_SOFT + name] = (value, not self.model.head.reads_pooled)
        return found

    def _write_document(self, document: dict[str, Any]) -> None:
        write_files(self.folder.path, {TRAINING_FILE: (json.dumps(document, indent=2) + "\n").encode()})


def _paces(learning: Mapping[str, tf.Variable], settings: TokenSettings, search: RetentionSearch | None) -> Any:
    """Factors of learning rates, where there are ghosts, scores or a search."""
    factors = {name: _GHOST_PACE for name in learning if ".ghost_" in name and name.endswith(".kernel")}
    if settings.movement:
        pace = settings.movement.score_rate / settings.learning_rate
        factors |= {name: pace for name in learning if name.endswith(SCORE)}
    if search:
        return lambda step: {PARAMETERS: search.pace(settings.learning_rate, step)}
    return (lambda step: {name: (factor, step) for name, factor in factors.items()}) if factors else None


def _part(batch: dict[str, tf.Tensor], prefix: str) -> dict[str, tf.Tensor]:
    return {name.removeprefix(prefix): value for name, value in batch.items() if name.startswith(prefix)}
