"""MPNet: how Hugging Face writes it. The network is `models_tf/encoder`."""
