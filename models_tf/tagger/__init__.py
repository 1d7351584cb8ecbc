"""The tagger: a small BERT for sequence labelling. The network is `models_tf/encoder`."""
