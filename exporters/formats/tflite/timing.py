"""A .tflite graph ready to be timed on LiteRT."""

from collections.abc import Callable
from typing import Any

from exporters.formats.base import TimedRun
from exporters.formats.runners import Feed
from exporters.formats.texts import holds_projection
from exporters.formats.tflite.timed_graph import TfliteTimedGraph


def start(content: bytes, feed: Feed) -> TimedRun:
    graph = TfliteTimedGraph(projection=holds_projection(content))
    graph.load(content)

    def again(feed: Feed) -> Callable[[], Any]:
        graph.feed(feed)
        return graph.run

    run = again(feed)
    run()
    return TimedRun(run=run, shapes=graph.output_shapes(), again=again)
