"""An .onnx graph ready to be timed on ONNX Runtime."""

from exporters.formats.base import TimedRun
from exporters.formats.onnx.timed_graph import OnnxTimedGraph
from exporters.formats.runners import Feed


def start(content: bytes, feed: Feed) -> TimedRun:
    graph = OnnxTimedGraph(inputs=feed)
    graph.load(content)
    graph.feed(feed)
    return TimedRun(run=graph.run, shapes=graph.output_shapes())
