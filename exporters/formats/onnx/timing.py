"""An .onnx graph ready to be timed on ONNX Runtime."""

from collections.abc import Callable
from typing import Any

from exporters.formats.base import TimedRun
from exporters.formats.onnx.timed_graph import OnnxTimedGraph
from exporters.formats.runners import Feed


def start(content: bytes, feed: Feed) -> TimedRun:
    graph = OnnxTimedGraph()
    graph.load(content)

    def again(feed: Feed) -> Callable[[], Any]:
        graph.feed(feed)
        return graph.run

    run = again(feed)
    return TimedRun(run=run, shapes=graph.output_shapes(), again=again)
