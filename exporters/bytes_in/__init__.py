"""The projection as a graph of builtin operators: UTF-8 bytes in, the features of the projection op out, bit for bit.

`BytesIn` says which settings can be expressed and how large the graph is, `projection.py` is the whole computation,
written once for all formats on the small operators of `ops.py`. Each format writes these in its own way
(`formats/<format>/bytes_ops.py`).
"""
