"""MobileBERT and IB-BERT, its teacher: how Hugging Face writes them. The network is `models_tf/encoder`."""
