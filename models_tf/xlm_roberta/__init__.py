"""XLM-RoBERTa: a RoBERTa for many languages, with a SentencePiece vocabulary. Reads CamemBERT, one for French."""
