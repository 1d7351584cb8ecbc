"""The words of a passage that a run of tokens stands for: `get_final_text` of BERT's run_squad.py.

For data that has tokens and white-space words but no places in the text. Where a tokenizer gives places, use those.
"""

from collections.abc import Callable, Sequence

Split = Callable[[str], list[str]]


def join_pieces(tokens: Sequence[str]) -> str:
    """Pieces as words, with single spaces."""
    return " ".join(" ".join(tokens).replace(" ##", "").replace("##", "").split())


def original_text(pieces: str, words: str, split: Split) -> str:
    """The part of `words` whose letters are those of `pieces`; all of `words` where they cannot be aligned.

    `split` gives the normalized words and signs of a text, as the tokenizer sees them before it cuts pieces.
    """
    normalized = " ".join(split(words))
    start = normalized.find(pieces)
    if start == -1:
        return words
    end = start + len(pieces) - 1
    words_letters, words_places = _letters(words)
    normalized_letters, normalized_places = _letters(normalized)
    if len(words_letters) != len(normalized_letters):
        return words
    place = {at: i for i, at in enumerate(normalized_places)}
    if start not in place or end not in place:
        return words
    return words[words_places[place[start]] : words_places[place[end]] + 1]


def _letters(text: str) -> tuple[str, list[int]]:
    """Without spaces, and where each character was."""
    places = [i for i, character in enumerate(text) if character != " "]
    return "".join(text[i] for i in places), places
