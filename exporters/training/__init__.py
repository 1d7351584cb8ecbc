"""Training as a function: `train(TrainRequest(...))`. Composes `models_tf.training` with `models_tf.compress`."""
