"""What can be profiled: an `ExportRequest` of a token model, and a number of rounds. Imports nothing heavy."""

from exporters.request import ExportRequest
from models_tf import registry
from models_tf.errors import InputError
from quantize.recipe import RECIPES

DEFAULT_RECIPE = "float32"
DEFAULT_ROUNDS = 30
# Five blocks need five rounds; the profiler of ONNX Runtime keeps a million events, some thousand a round.
MIN_ROUNDS, MAX_ROUNDS = 5, 200


def check(request: ExportRequest, rounds: int) -> None:
    """Refuses what cannot be profiled, before any work."""
    if request.kind != registry.TOKENS:
        raise InputError(
            f"profile is for token models ({', '.join(registry.names(registry.TOKENS))}): give --model and --checkpoint "
            f"DIR or --random-init. Received: {_received(request)}."
        )
    if not MIN_ROUNDS <= rounds <= MAX_ROUNDS:
        raise InputError(f"--rounds must be {MIN_ROUNDS} to {MAX_ROUNDS}. Received: {rounds}.")
    if RECIPES[request.quantize].needs_calibration and not request.random_init and request.calibration_data is None:
        raise InputError(f"Recipe {request.quantize} needs example texts: give --calibration-data FILE.")


def _received(request: ExportRequest) -> str:
    return f"a {request.model} model" if request.model else str(request.checkpoint or "neither of them")
