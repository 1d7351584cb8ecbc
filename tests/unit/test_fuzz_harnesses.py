"""libFuzzer on the projection core and the three wrappers, a short run of `python -m tests.fuzz`; and its own alarm."""

from pathlib import Path

import numpy as np
import pytest

from tests.fuzz import harnesses, seeds

pytestmark = pytest.mark.slow
RUNS = {"core": 8_000, "tf_op": 1_500, "tflite_op": 1_500, "ort_op": 1_500}


@pytest.fixture(scope="module")
def programs(tmp_path_factory) -> dict[str, Path]:
    if why := harnesses.missing():
        pytest.skip(why)
    return harnesses.build(tmp_path_factory.mktemp("harnesses"))


@pytest.mark.parametrize("name", harnesses.DRIVEN)
def test_fuzzing_finds_nothing(programs, name, tmp_path):
    result = harnesses.run(name, programs[name], tmp_path, runs=RUNS[name], seed=16)
    assert not result.finding, result
    assert result.executions == RUNS[name]
    assert result.coverage > 300, "the seeds reach the code behind the config"


def test_the_memory_of_the_process_that_starts_a_harness_is_no_finding(programs, tmp_path, monkeypatch):
    monkeypatch.setattr(harnesses, "_MEMORY_MB", 400)  # the harness takes 130
    ours = np.ones(500 << 20, np.uint8)
    result = harnesses.run("core", programs["core"], tmp_path, runs=40_000, seed=16)  # the watch looks once a second
    assert ours.nbytes > 400 << 20
    assert not result.finding, result


def test_a_broken_promise_of_the_core_is_found(programs, tmp_path, monkeypatch):
    """The harness would see it: a core that forgets to zero the rows behind a text."""
    broken = tmp_path / "sources"
    broken.mkdir()
    unchanged = [path for path in programs["core"].parent.glob("*.o") if path.stem != "projection"]
    for path in (*harnesses.SOURCES.glob("*.cc"), *harnesses.SOURCES.glob("*.h"), *unchanged):
        (broken / path.name).write_bytes(path.read_bytes())
    text = (broken / "projection.cc").read_text()
    assert text.count("std::memset(out, 0,") == 1
    (broken / "projection.cc").write_text(text.replace("std::memset(out, 0,", "std::memset(out, 1,"))
    monkeypatch.setattr(harnesses, "SOURCES", broken)
    result = harnesses.run("core", harnesses.build(broken, ["core"])["core"], tmp_path, runs=2_000, seed=16)
    assert "value == 0" in result.finding


def test_seeds_hold_the_golden_vectors_and_every_setting(tmp_path):
    count = seeds.write_corpus(tmp_path / "corpus")
    assert count > 200
    everything = b"".join(path.read_bytes() for path in (tmp_path / "corpus").iterdir())
    seeds.write_dictionary(tmp_path / "words.txt")
    for line in (tmp_path / "words.txt").read_text().splitlines():
        if line.endswith('="'):
            assert line.strip('"').encode() in everything, line
