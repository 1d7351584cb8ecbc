"""Smaller models from larger ones: functions from a `Network` to a `Network` with fewer heads, neurons or layers."""
