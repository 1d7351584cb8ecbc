"""XLM-RoBERTa: a RoBERTa for many languages, with a SentencePiece vocabulary."""
