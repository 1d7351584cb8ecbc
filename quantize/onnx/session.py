"""The one place that makes ONNX Runtime sessions. onnxruntime is imported when a session is asked for."""

from typing import Any


def make_session(content: bytes, *, threads: int = 1, options: Any = None, **settings: Any) -> Any:
    """A session on the CPU that prints errors only.

    `options` is a `SessionOptions` to start from, such as one with custom operators; `settings` are attributes of it.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions() if options is None else options
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # warnings would reach the user's terminal
    for name, value in settings.items():
        setattr(options, name, value)
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    # Kept for a change of providers, which there is none here: one more copy of a large model.
    session._model_bytes = None  # noqa: SLF001
    return session
