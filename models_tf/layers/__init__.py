"""Keras layers that the models share."""
