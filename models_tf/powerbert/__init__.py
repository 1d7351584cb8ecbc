"""PoWER-BERT: a BERT that drops tokens between its layers. How they are chosen is `models_tf/encoder/retention.py`."""
