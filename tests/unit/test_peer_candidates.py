"""What `benchmarks/peers.py` feeds to files that take one length, and what the floor multiplies."""

import runpy
from pathlib import Path

import numpy as np

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
WORKER = runpy.run_path(str(BENCHMARKS / "peer_worker.py"))
FLOOR = runpy.run_path(str(BENCHMARKS / "product_floor.py"))


def candidate(**files: Path):
    return WORKER["Candidate"](
        name="tool", recipe="int8", kind="LiteRT", files={int(length[1:]): path for length, path in files.items()}
    )


def test_a_file_for_each_length_is_chosen_by_the_shortest_that_holds_the_row() -> None:
    found = candidate(n16=Path("short"), n64=Path("long"))
    assert [found.file_for(length) for length in (3, 16, 17)] == [
        (16, Path("short")),
        (16, Path("short")),
        (64, Path("long")),
    ]
    assert found.longest == 64


def test_a_file_of_any_length_is_never_padded() -> None:
    found = candidate(n0=Path("any"))
    assert (found.longest, found.file_for(500)) == (0, (0, Path("any")))
    row = {"ids": np.ones((1, 3), np.int32), "mask": np.ones((1, 3), np.int32)}
    assert WORKER["padded"](row, found.longest) is row
    assert WORKER["padded"](row, 5)["mask"].tolist() == [[1, 1, 1, 0, 0]]


def test_bytes_are_those_of_the_longest_file_and_the_weights_beside_it(tmp_path: Path) -> None:
    for name, size in (("short.xml", 1), ("long.xml", 10), ("long.bin", 100)):
        (tmp_path / name).write_bytes(bytes(size))
    assert candidate(n16=tmp_path / "short.xml", n64=tmp_path / "long.xml").size_bytes == 110


def test_the_floor_counts_one_token_behind_keys_and_values_in_the_last_layer() -> None:
    shapes = {"hidden": 4, "heads": 2, "intermediate": 8}
    # Keys and values: 2 * 4 * 4 for each of 3 tokens. Query, output, FFN: 2 * 16 + 2 * 32 = 96 for a token, and scores
    # and context 2 * 3 * 4.
    last = 3 * 32 + 96 + 24
    assert FLOOR["multiplications"](FLOOR["Shapes"](layers=1, **shapes), 3) == last
    assert FLOOR["multiplications"](FLOOR["Shapes"](layers=2, **shapes), 3) == last + 3 * (32 + 96 + 24)
