"""Latency: the median of enough runs, in bounded time."""

import time

import numpy as np

from exporters import bench


def test_quick_graphs_are_run_often_and_slow_ones_at_least_five_times(monkeypatch):
    assert bench._median_ms(lambda: None)[1] == 100
    monkeypatch.setattr(bench, "_SECONDS", 0.0)
    median, runs = bench._median_ms(lambda: time.sleep(0.01))
    assert runs == 5
    assert 9.0 < median < 100.0


def test_the_first_axis_of_the_old_length_after_the_batch_is_time():
    shape = np.array([64, 1, 64, 64])
    assert bench._new_shape(shape, 64, 32).tolist() == [64, 1, 32, 64]
    assert shape.tolist() == [64, 1, 64, 64]
    assert bench._new_shape(np.array([-1, 9]), 64, 32).tolist() == [-1, 9]


def test_features_are_ternary_and_all_rows_are_real_tokens():
    features = bench._features(16, 8)
    assert features.shape == (1, 16, 8)
    assert set(np.unique(features)) == {-1, 0, 1}
    assert (features[:, :, 0] == 1).all()
