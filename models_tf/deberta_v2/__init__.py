"""DeBERTa-v2 and v3: how Hugging Face writes them. The network is `models_tf/encoder`."""
