"""Training of text classifiers from labelled files."""
