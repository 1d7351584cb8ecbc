"""An explanation as text: a column per word, a line per layer, a dot where the word is gone. Needs no color."""

import unicodedata
from collections.abc import Callable, Iterator, Sequence

from exporters.explanation.run import Answer, ExplainedText, Explanation, Word, survivors
from models_tf.encoder.config import BY_CHANCE, BY_PLACE, BY_SIGNIFICANCE

WIDTH, NARROWEST = 100, 40
GONE, PARTLY = "·", "~"
LEGEND = f"{GONE} the word is gone   {PARTLY} only some of its pieces are left"
INPUT = "input"
CHOSEN = {
    BY_SIGNIFICANCE: "those that get the most attention",
    BY_PLACE: "the first of the text",
    BY_CHANCE: "chosen by chance, at the same places of every text",
}
# Longer words are mostly links: their beginning is enough.
_LONGEST = 24


def summary(explanation: Explanation, *, width: int = WIDTH) -> str:
    """What the command prints."""
    head = (
        f"{explanation.model}{'' if explanation.trained else ' (untrained)'}: "
        f"its {len(explanation.retention)} layers keep {' '.join(map(str, explanation.retention))} tokens "
        f"of at most {explanation.max_seq_len}, "
        f"{CHOSEN[explanation.retention_by]}"
    )
    if any(text.answers for text in explanation.texts):
        head += "; the answer is read from the first token alone"
    parts = [f"{head}\n{LEGEND}"]
    for text in explanation.texts:
        lines = drawing(text, width=width)
        parts.append("\n".join([*lines, *notes(text)]))
    return "\n\n".join(parts) + "\n"


def drawing(text: ExplainedText, *, width: int = WIDTH) -> list[str]:
    """Lines in blocks of as many words as fit; a block ends at the layer where none of its words is left."""
    rows = layer_names(text)
    names = max(len(name) for name, _ in rows)
    numbers = max(len(str(len(kept))) for _, kept in rows)
    lines = []
    for number, block in enumerate(blocks(text.words, width - names - numbers - 4)):
        for name, kept in rows:
            if number and not any(survivors(word, kept) for word in block):
                lines.append(f"{name:<{names}}  {'':>{numbers}}  (none left)")
                break
            count = "" if number else str(len(kept))
            cells = " ".join(_cell(word, kept) for word in block)
            lines.append(f"{name:<{names}}  {count:>{numbers}}  {cells}".rstrip())
        lines.append("")
    return lines[:-1]


def notes(text: ExplainedText) -> list[str]:
    """The lines under a drawing: the answer, and whether the whole text was read."""
    found = [f"answer: {answer_text(text.answers)}"] if text.answers else []
    if text.cut:
        found.append(f"note: {text.cut} more tokens of the text do not fit and were not read (--max-seq-len)")
    if text.layers and all(len(kept) == len(text.places) for kept in text.layers[:-1]):
        found.append("note: the text has no more tokens than the layers before the last keep: none was dropped")
    return found


def answer_text(answers: Sequence[Answer]) -> str:
    return ", ".join(
        f"{answer.label} {answer.score:.4g}"
        if answer.score is not None
        else f"{answer.label} ({100 * (answer.probability or 0.0):.1f} %)"
        for answer in answers
    )


def layer_names(text: ExplainedText) -> list[tuple[str, tuple[int, ...]]]:
    """What goes in, and what each layer (from 1) passes on."""
    return [(INPUT, text.places), *((f"layer {number}", kept) for number, kept in enumerate(text.layers, start=1))]


def word_width(word: Word) -> int:
    """Columns of a word at its widest: with the mark for a part, if it can get one."""
    return max(columns(shown(word)) + (len(word.places) > 1), 1)


def blocks(
    words: Sequence[Word], width: float, room: Callable[[Word], float] = word_width, gap: float = 1
) -> Iterator[list[Word]]:
    """Words that fit on one line, at least one."""
    block, used = list[Word](), 0.0
    for word in words:
        needed = room(word)
        if block and used + needed > width:
            yield block
            block, used = [], 0.0
        block.append(word)
        used += needed + gap
    if block:
        yield block


def shown(word: Word) -> str:
    """The word on one line, shortened if very long."""
    text = "".join(character if character.isprintable() else " " for character in word.text)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def columns(text: str) -> int:
    """Terminal columns: East Asian letters take two, combining marks none."""
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )


def _cell(word: Word, kept: Sequence[int]) -> str:
    left = survivors(word, kept)
    text = GONE if not left else shown(word) + (PARTLY if left < len(word.places) else "")
    return text + " " * (word_width(word) - columns(text))
