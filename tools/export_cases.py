"""The fixed list of `compare_exports.py`: each case is one command, with a name that stays.

In a command `@name` is an input of `export_inputs.py` and `%case` what an earlier case wrote. A case is run in an empty
folder of its own and finds both by relative paths, so the commands of two checkouts are the same to the letter.
"""

from collections.abc import Iterator
from dataclasses import dataclass

RECIPES = ("float32", "fp16", "int8-dynamic", "int8")
OUTPUT, JSON = "out", "stdout.json"
LENGTH = "--max-seq-len 16"
EVAL = "--eval-data @eval.tsv --calibration-data @calibration.tsv"
TAGS = f"--eval-data @eval.conll {LENGTH}"
ROWS = "--train @train.tsv --dev @dev.tsv"
SHORT = f"{LENGTH} --batch-size 16 --learning-rate 1e-3"
PRUNE = "--drop-layers top:1 --prune-heads 0.5 --prune-ffn 0.5"
VOCABULARY = "--prune-vocab --vocab-data @train.tsv @texts.txt"
_INPUTS, _OUTPUTS = "../../inputs/", "../"


@dataclass(frozen=True, kw_only=True)
class Case:
    """`arguments` of the command. `prints` names what it prints, where that is compared too."""

    name: str
    arguments: tuple[str, ...]
    prints: str = ""

    @property
    def needs(self) -> tuple[str, ...]:
        """Cases whose output it reads."""
        others = (word for word in self.arguments if word.startswith(_OUTPUTS) and not word.startswith(_INPUTS))
        return tuple(dict.fromkeys(word.split("/")[1] for word in others))

    @property
    def inputs(self) -> tuple[str, ...]:
        """Files and folders of inputs that it reads."""
        return tuple(word.removeprefix(_INPUTS) for word in self.arguments if word.startswith(_INPUTS))


def all_cases() -> tuple[Case, ...]:
    """In the order in which they are run: a case stands behind those that it needs."""
    found = (*_trainings(), *_bundled(), *_families(), *_heads(), *_trained(), *_compressed(), *_analyses())
    names = [case.name for case in found]
    for number, case in enumerate(found):
        if names.index(case.name) != number or not set(case.needs) <= set(names[:number]):
            raise ValueError(f"Names must differ, and what is needed must stand before. Received: {case.name}.")
    return found


def _case(name: str, command: str, prints: str = "") -> Case:
    places = {"@": lambda word: _INPUTS + word, "%": lambda word: f"{_OUTPUTS}{word}/{OUTPUT}"}
    words = (places[word[0]](word[1:]) if word[0] in places else word for word in command.split())
    return Case(name=name, arguments=tuple(words), prints=prints)


def _writing(name: str, command: str) -> Case:
    return _case(name, f"{command} --output {OUTPUT}")


def _recipes(name: str, command: str) -> Iterator[Case]:
    """Both formats in each recipe."""
    for recipe in RECIPES:
        yield _writing(f"{name}-{recipe}", f"{command} --quantize {recipe}")


def _settings(**values: int) -> str:
    return " ".join(f"--set {key}={value}" for key, value in values.items())


def _sizes(hidden: int, heads: int) -> str:
    widths = {"hidden_size": hidden, "num_attention_heads": heads, "intermediate_size": 32}
    return _settings(num_hidden_layers=2, **widths, max_position_embeddings=16)


def _trainings() -> Iterator[Case]:
    """A short one of each kind: the checkpoints are compared."""

    def train(name: str, model: str, command: str) -> Case:
        return _writing(f"train-{name}", f"train --model {model} {command}")

    small = f"{ROWS} --max-seq-len 12 --epochs 2 --batch-size 16 --set projection.feature_size=64"
    grams = _settings(embedding_size=8, fourgram=0, fivegram=0, skip1bigram=0, skip2bigram=0)
    yield train("sgnn", "sgnn", f"{small} --set hidden_size=16")
    yield train("sgnn-linear", "sgnn", f"{small} --set hidden_size=16 --set last_hidden_size=8 --set activation=none")
    yield train("prado", "prado", f"{small} {grams}")
    yield train("prado-mixed-taught", "prado", f"{small} {grams} --features mixed --teacher @bert")
    yield train("prado-texts", "prado", f"{small} {grams} --teacher @bert --unlabelled @texts.txt --swap 0.2")

    new = f"--vocab @bert/vocab.txt {ROWS} {SHORT} --epochs 1"
    tuned = f"--checkpoint @bert {ROWS} {SHORT}"
    taught = "--teacher @bert --hidden-weight 1 --attention-weight 0.5"
    movement = "--movement topk --movement-keep 0.25 --movement-set every=2"
    yield train("bert-new", "bert", f"{new} {_sizes(16, 2)}")
    yield train("bert-tuned", "bert", f"{tuned} --epochs 2")
    yield train("bert-several", "bert", f"{tuned} --multi-label --epochs 1")
    yield train("bert-accumulated", "bert", f"{tuned} --epochs 1 --accumulate 3")
    yield train("bert-smaller-taught", "bert", f"{tuned} --drop-layers top:1 --prune-heads 0.5 {taught} --epochs 1")
    yield train("bert-movement", "bert", f"{tuned} {movement} --epochs 2")

    narrow = _settings(embedding_size=16, intra_bottleneck_size=16, num_feedforward_networks=2)
    layers = "--teacher @mobilebert-layer-norm --transfer progressive --transfer-epochs 1 --init-from-teacher"
    yield train("mobilebert-transfer", "mobilebert", f"{new} {_sizes(32, 4)} {narrow} {layers}")
    phases = "--fine-tune-epochs 1 --search-epochs 1 --epochs 1 --keep-share 0.5"
    yield train("powerbert-search", "powerbert", f"{tuned} {phases}")
    yield train("albert-tuned", "albert", f"--checkpoint @albert {ROWS} {SHORT} --epochs 1")
    texts = "--teacher @bert-tags --unlabelled @texts.txt --distill-epochs 1"
    tags = f"--train @train.conll --dev @dev.conll {SHORT} --epochs 1"
    yield train("tagger-unlabelled", "tagger", f"--checkpoint @bert-tags --drop-layers top:1 {texts} {tags}")


def _bundled() -> Iterator[Case]:
    for task in ("snips", "clinc150"):
        yield from _recipes(f"prado-{task}", f"--model prado --task {task}")
    yield _writing("prado-snips-labels-int8", "--model prado --graphs bytes --max-bytes 96 --outputs labels")
    for io in ("float32", "int32"):
        yield _writing(f"prado-snips-io-{io}-int8", f"--model prado --io {io}")
    yield _writing("prado-snips-io-int8", "--model prado --io int8 --target tflite")


def _families() -> Iterator[Case]:
    for name in ("bert", "mobilebert-opt", "mobilebert-layer-norm", "ghostbert", "powerbert", "albert"):
        yield from _recipes(name, f"--model {name.split('-')[0]} --checkpoint @{name} {EVAL} {LENGTH}")
    yield _writing("bert-min-runtime-int8", f"--checkpoint @bert --min-runtime 2.14 {EVAL} {LENGTH}")
    yield _writing("bert-mediapipe-int8", f"--checkpoint @bert --mediapipe --target tflite {EVAL} {LENGTH}")
    yield from _recipes("tagger", f"--model tagger --checkpoint @tagger {TAGS}")


def _heads() -> Iterator[Case]:
    """Heads that no family above has, and ways of folding."""
    yield _writing("head-mobilebert-tags-int8", f"--checkpoint @mobilebert-tiny {TAGS}")
    yield _writing("head-bert-tags-int8", f"--checkpoint @bert-tags --task token-classification {TAGS}")
    for recipe in ("float32", "int8"):
        pairs = f"--task regression --eval-data @pairs.tsv --max-seq-len 32 --quantize {recipe}"
        yield _writing(f"head-regression-{recipe}", f"--checkpoint @bert-regression {pairs}")
        asked = f"--task question-answering --eval-data @squad.json --max-seq-len 32 --quantize {recipe}"
        yield _writing(f"head-questions-{recipe}", f"--checkpoint @bert-questions {asked}")
    yield _writing("head-labels-int8", f"--checkpoint @bert-labels --label-threshold 0.3 {EVAL} {LENGTH}")
    texts = f"--calibration-data @calibration.tsv {LENGTH}"
    yield _writing("head-base-int8", f"--checkpoint @bert-base --task base {texts}")
    yield _writing("head-embedding-int8", f"--checkpoint @bert-base --task embedding --pooling max {texts}")
    folded = f"--checkpoint @mobilebert-opt --quantize float32 {LENGTH}"
    yield _writing("fold-safe-float32", f"{folded} --fold safe --target onnx")
    yield _writing("fold-off-float32", f"{folded} --no-fold --target tflite")


def _trained() -> Iterator[Case]:
    """What was trained above, exported."""
    yield from _recipes("sgnn", f"--checkpoint %train-sgnn {EVAL}")
    for name in ("prado-mixed-taught", "bert-movement", "powerbert-search"):
        yield _writing(f"{name}-int8", f"--checkpoint %train-{name} {EVAL}")


def _compressed() -> Iterator[Case]:
    """Checkpoints made smaller in every way, and their int8 files; then the same flags on the export itself."""
    chosen = f"--data @train.tsv {LENGTH}"
    ways = {
        "pruned": f"{chosen} {PRUNE}",
        "contribution": f"{chosen} --drop-layers contribution:1 --prune-heads 0.3 --head-scope global",
        "ghosts": f"{chosen} --prune-heads 0.5 --ghosts --ghost-on outputs",
        "shared": "--share-layers --share-from mean",
        "factorised": "--embedding-size 8",
        "vocabulary": VOCABULARY,
        "retention": "--retention 10,6,1",
    }
    for way, flags in ways.items():
        yield _writing(f"compress-{way}", f"compress --checkpoint @bert {flags}")
        yield _writing(f"{way}-int8", f"--checkpoint %compress-{way} {EVAL} {LENGTH}")
    bert = f"--checkpoint @bert {EVAL} {LENGTH}"
    yield _writing("bert-export-pruned-int8", f"{bert} {PRUNE} --importance-data @train.tsv")
    several = f"--share-layers --embedding-size 8 {VOCABULARY} --retention 10,6,1"
    yield _writing("bert-export-shared-int8", f"{bert} {several}")


def _analyses() -> Iterator[Case]:
    for name, folder in (("powerbert", "@powerbert"), ("powerbert-search", "%train-powerbert-search")):
        yield _case(f"explain-{name}", f"explain --checkpoint {folder} --data @eval.tsv --json", JSON)
    yield _case("ablate-bert", f"ablate --checkpoint @bert --data @dev.tsv --what all {LENGTH} --json", JSON)
    for name in ("bert", "mobilebert-opt"):
        flags = f"--calibration-data @calibration.tsv {LENGTH} --quantize int8 --rounds 5 --json"
        yield _case(f"profile-{name}", f"profile --checkpoint @{name} {flags}", JSON)
