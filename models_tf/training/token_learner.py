"""How token models learn a task: the stages of the training, the dev score, and the folder that is written."""

import dataclasses
import functools
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from models_tf.checkpoints import encoder as checkpoint
from models_tf.checkpoints.atomic_files import write_files
from models_tf.checkpoints.encoder import EncoderCheckpoint
from models_tf.checkpoints.folder import CONFIG_FILE, RECORD_FILE, TRAINING_FILE
from models_tf.checkpoints.json_text import read_json_file
from models_tf.checkpoints.weights import WEIGHTS_FILE
from models_tf.encoder.batches import Predictor
from models_tf.encoder.model import Encoder
from models_tf.tasks.rows import TaskRows
from models_tf.tokenizers.files import TOKENIZER_FILES
from models_tf.training.folder import TrainingFolder
from models_tf.training.learner import Measured
from models_tf.training.token_plan import make_plan
from models_tf.training.token_settings import TokenSettings
from models_tf.training.unlabelled import Taught
from models_tf.training.windows import WindowedRows

OUTPUT_FILES = (CONFIG_FILE, WEIGHTS_FILE, *TOKENIZER_FILES, TRAINING_FILE, RECORD_FILE)


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
        soft: Mapping[str, Any] | None = None,
        teacher: EncoderCheckpoint | None = None,
        unlabelled: Taught | None = None,
        beside: Mapping[str, bytes] | None = None,
        windowed: WindowedRows | None = None,
    ) -> None:
        """`soft` are a teacher's outputs on the rows of `train`, by name; `teacher` is needed for its inner states.

        The `unlabelled` words are learned before the rows of `train`. Files `beside` are written with every checkpoint.
        `train` are some of the `windowed` rows, if the file is too large to hold.
        """
        self.student, self.dev, self.settings, self.folder = student, dev, settings, folder
        self.command, self.beside = command, dict(beside or {})
        self.model = Encoder(student.config, student.head, student.tensors)
        self.weights = list(self.model.table.values())
        plan = make_plan(
            self.model,
            train,
            settings=settings,
            soft=soft or {},
            teacher=teacher,
            unlabelled=unlabelled,
            windowed=windowed,
        )
        self.stages, self.main, self.state = plan.stages, plan.main, plan.state

    @functools.cached_property
    def _predict(self) -> Predictor:
        """Made in the main stage, which knows the tokens that are kept."""
        return Predictor(self.model, self.main.table, config=self.main.config)

    def evaluate(self) -> Measured:
        if self.main.movement:
            self.main.movement.refresh(self.main.steps_done())
        self.score = self.dev.score(self._predict(self.dev.inputs))
        # A correlation with a constant is not a number; it counts as the worst.
        value = self.score.value / 100 if math.isfinite(self.score.value) else -1.0
        return Measured(value=value, rows=self.score.n)

    def tensors(self) -> dict[str, np.ndarray]:
        tensors, movement = self.model.tensors(), self.main.movement
        return movement.bake(tensors) if movement else tensors

    def save(self, tensors: dict[str, np.ndarray], record: dict[str, Any]) -> None:
        config = self.main.config
        best = checkpoint.with_tensors(dataclasses.replace(self.student, config=config), tensors)
        document = {
            "metric": self.score.metric,
            "dev_score": self.score.value,
            "dev_rows": self.score.n,
            "dev_standard_error": self.score.standard_error,
            "dev_more": dict(self.score.more),
            "best": record,
            **self.fingerprint(),
            "config": config.to_dict(),
            "command": self.command,
        }
        if self.main.movement:
            document["movement_kept"] = self.main.movement.kept()
        if config.retention:
            document["retention"] = self._retention()
        if self.score.exact_match is not None:
            document["dev_exact_match"] = self.score.exact_match

        def write(folder: Any) -> None:
            checkpoint.save(folder, best, beside=self.beside)
            self._write_document(document)

        self.folder.save_checkpoint(write)

    def finish(self, result: dict[str, Any]) -> dict[str, Any]:
        path = self.folder.path / TRAINING_FILE
        document = read_json_file(path)
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
        config, search, length = self.main.config, self.main.search, self.settings.max_seq_len
        lengths = list(config.retention)
        kept = sum(min(count, length) for count in lengths) / (length * len(lengths))
        found = {"masses": search.masses()} if search else {}
        return {"lengths": lengths, "by": config.retention_by, "share": kept, "searched": bool(search), **found}

    def _write_document(self, document: dict[str, Any]) -> None:
        write_files(self.folder.path, {TRAINING_FILE: (json.dumps(document, indent=2) + "\n").encode()})
