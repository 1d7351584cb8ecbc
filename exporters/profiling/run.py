"""`profile`: what each part of a token model costs: parameters, bytes, multiply-adds, and its share of the time.

Converts and quantizes as an export does and measures the files that come out. Leaves out accuracy and parity: those are
an export's business, and no model file is kept.
"""

import contextlib
from collections.abc import Mapping
from typing import Any

from exporters.console.progress import Progress
from exporters.data import rows
from exporters.formats import artifacts, base, trials
from exporters.formats.base import Artifact
from exporters.formats.runners import Feed
from exporters.profiling import parts as profile_parts
from exporters.profiling.parts import GRAPH, PARTS, Plan
from exporters.profiling.report import FileProfile, PartProfile, Profile
from exporters.profiling.request import ProfileRequest
from exporters.report.versions import cpu_name, versions
from exporters.request_fields import check_request
from exporters.sources import base as sources
from exporters.sources.tokens import TokenSource
from models_tf import extras
from models_tf.errors import naming_fields
from models_tf.folders.output_folder import OutputFolder
from quantize.recipe import RECIPES


@naming_fields()
def profile(request: ProfileRequest, *, progress: Progress | None = None, command: str = "") -> Profile:
    """Profile a token model.

    Args:
        request: which model, recipe and formats. With `request.output` the folder appears complete, or not at all.
        progress: shows the stages; by default nothing is shown.
        command: what the report says it was made with.

    Raises:
        InputError: the checkpoint, the rows or the output folder cannot be used; in one line.
    """
    check_request(request, ProfileRequest)
    extras.require(extras.EXPORT, "A profile")
    wanted, rounds = request.as_export(), request.rounds
    progress = progress or Progress(quiet=True)
    recipe = RECIPES[request.quantize]
    with contextlib.ExitStack() as stack:
        folder = None
        if request.output is not None:
            folder = stack.enter_context(
                OutputFolder(request.output, command="profile", force=request.force, inputs=wanted.inputs)
            )
        with progress.stage("read checkpoint"):
            source = sources.load(wanted)
            if not isinstance(source, TokenSource):  # the request has seen to it
                raise TypeError(f"A token model was expected. Received: {type(source).__name__}.")
            data = source.rows(calibrate=recipe.needs_calibration)
        with progress.stage("load TensorFlow, build model"):
            model = source.build(data)
        with progress.stage("convert to " + " and ".join(request.target)):
            converted = artifacts.convert_all(model.graph, request.target, recipe)
        with progress.stage(f"quantize: {recipe.name}"):
            calibration = rows.calibration_feeds(data, model.graph.input_names)
            files = artifacts.build(converted, recipe, calibration)
            del converted
        with progress.stage("try files"):
            trials.try_artifacts(files, lambda name: next(iter(model.timed_rows(name).values())))
        progress.release()  # nothing can be wrong any more with the input or the recipe
        plan, profiles, counted = Plan.of(model.network), [], dict[str, int]()
        described = model.describe()
        for file in files:
            with progress.stage(f"measure {file.name}, {rounds} rounds"):
                feed = model.timed_rows(file.graph)[described["max_seq_len"]]
                made, multiply_adds = _file(file, plan, feed, rounds)
                profiles.append(made)
                counted = counted if any(counted.values()) else multiply_adds
        found = Profile(
            model=described,
            quantize=recipe.name,
            command=command,
            rounds=rounds,
            parts=_parts(source.checkpoint.tensors, counted),
            files=tuple(profiles),
            cpu=cpu_name(),
            versions=versions(),
        )
        if folder is not None:
            for name, content in found.documents().items():
                folder.write(name, content)
            folder.commit()
    return found


def _parts(tensors: Mapping[str, Any], multiply_adds: Mapping[str, int]) -> tuple[PartProfile, ...]:
    """Parts that have weights or work; parameters are those of the checkpoint."""
    parameters = dict.fromkeys(PARTS, 0)
    for name, value in tensors.items():
        parameters[profile_parts.part_of_weight(name)] += int(value.size)
    return tuple(
        PartProfile(part=part, parameters=parameters[part], multiply_adds=multiply_adds.get(part, 0))
        for part in PARTS
        if parameters[part] or multiply_adds.get(part)
    )


def _file(file: Artifact, plan: Plan, feed: Feed, rounds: int) -> tuple[FileProfile, dict[str, int]]:
    """And the multiply-adds of each part."""
    owner = base.get(file.format)
    opened = owner.open(file.content)
    graph = owner.op_graph(opened)
    parts = profile_parts.assign(graph, plan)
    timing, note, counted = None, "", profile_parts.multiply_adds_of_parts(graph, parts)
    try:
        timing, counted = owner.measure(opened, plan, feed, rounds)
    except Exception as error:  # noqa: BLE001 - the rest of the profile stands, whatever a runtime has against a graph
        note = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
    sizes = profile_parts.bytes_of_parts(graph, parts, len(file.content))
    made = FileProfile(
        name=file.name,
        target=file.format,
        size_bytes=len(file.content),
        graph_bytes=sizes.pop(GRAPH),
        part_bytes=sizes,
        timing=timing,
        note=note,
    )
    return made, counted
