"""Text that every tokenizer and runtime takes."""


def clean_text(text: str) -> str:
    """JSON can hold half of a surrogate pair, which is not text: a question mark replaces it."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
