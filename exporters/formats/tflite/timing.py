"""A .tflite graph ready to be timed on LiteRT."""

from exporters.formats.base import TimedRun
from exporters.formats.runners import Feed
from exporters.formats.tflite.timed_graph import TfliteTimedGraph


def start(content: bytes, feed: Feed) -> TimedRun:
    graph = TfliteTimedGraph(inputs=feed)
    graph.load(content)
    graph.feed(feed)
    graph.run()
    return TimedRun(run=graph.run, shapes=graph.output_shapes())
