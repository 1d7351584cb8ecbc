"""An export takes one format at a time: no second float model is in memory."""

import weakref

from exporters import ExportRequest, export
from exporters.formats import artifacts


def test_the_float_model_of_a_format_is_gone_before_the_next_is_made(tiny_checkpoint, tmp_path, monkeypatch):
    convert, made, alive = artifacts.convert, [], []

    def watched(*arguments):
        alive.append([one() is not None for one in made])
        result = convert(*arguments)
        made.append(weakref.ref(result))
        return result

    monkeypatch.setattr(artifacts, "convert", watched)
    export(ExportRequest(checkpoint=tiny_checkpoint, quantize="int8-dynamic", output=tmp_path / "out"))
    assert alive == [[], [False]]
