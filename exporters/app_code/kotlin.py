"""The Kotlin class of a model: typed functions around the library, and the labels as a constant."""

from exporters.app_code.model import AppModel

HEADER = "// Written by `export-mobile android`; write it again rather than change it."
# More would outgrow what the JVM allows a method to be: then the labels are read from the assets alone.
_MOST_CONSTANTS = 1000
_ESCAPED = {"\\": "\\\\", '"': '\\"', "$": "\\$", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_CLASSES = {"Tagger": "WordTagger", "Answerer": "QuestionAnswerer"}
_IMPORTS = {
    "Classifier": ("Label", "TextClassifier"),
    "Scorer": ("TextClassifier",),
    "Tagger": ("Span", "WordTagger"),
    "Answerer": ("QuestionAnswerer", "Span"),
}


def kotlin_class(model: AppModel, *, package: str, name: str, assets: str) -> str:
    """The text of NAME.kt. `assets` is the folder of the model's files in the app's assets."""
    used = sorted({"AssetFiles", "LiteRtEngine", "SelfTest", *_IMPORTS[model.kind]})
    constants = bool(model.labels) and len(model.labels) <= _MOST_CONSTANTS and model.kind in ("Classifier", "Tagger")
    lines = [
        HEADER,
        f"package {package}",
        "",
        "import android.content.Context",
        *(f"import exportmobile.{used_class}" for used_class in used),
        "",
        "/**",
        f" * {_comment(model.name)} for {_comment(model.task)}: {_comment(model.file)} in assets/{_comment(assets)}.",
        " *",
        " * Opening it reads the file: do that, and ask it, off the main thread. May be shared by threads. Texts that",
        " * it cannot read are an IllegalArgumentException of one line.",
        " */",
        f"class {name}(context: Context, threads: Int = 1) : AutoCloseable {{",
        "    private val model =",
        f"        {_CLASSES.get(model.kind, 'TextClassifier')}.open(",
        f"            {reads(assets)},",
        "            LiteRtEngine.threads(threads),",
        "        )",
        "",
        *_functions(model),
        "    /** Runs the examples that came with the export: do it once on every kind of phone. */",
        "    fun selfTest(): SelfTest = model.selfTest()",
        "",
        "    override fun close() = model.close()",
        *(_labels(model) if constants else ()),
        "}",
    ]
    return "\n".join(lines) + "\n"


def reads(assets: str) -> str:
    """The call with which a class reads this folder of the assets."""
    return f"AssetFiles(context.assets, {literal(assets)})"


def literal(text: str) -> str:
    """A text as Kotlin writes it. Whatever does not print, or changes the direction of a line, is escaped."""
    return '"' + "".join(_character(character) for character in text) + '"'


def _character(character: str) -> str:
    if character in _ESCAPED:
        return _ESCAPED[character]
    if character == " " or character.isprintable():
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def _comment(text: str) -> str:
    """Cannot end the comment, begin another, or leave the line."""
    return "".join(c if c.isalnum() or c in " -_.," else "?" for c in text)[:60]


def _functions(model: AppModel) -> list[str]:
    given, passed = ("text: String, pair: String", "text, pair") if model.pairs else ("text: String", "text")
    if model.kind == "Tagger":
        return [
            "    /** A span for each word between white space, with its tag; null for words that were not read. */",
            "    fun tag(text: String): List<Span> = model.tag(text)",
            "",
            "    /** The entities of a text, if the tags are such as B-PER, I-PER, O. */",
            "    fun entities(text: String): List<Span> = model.entities(text)",
            "",
        ]
    if model.kind == "Answerer":
        return [
            "    /** The part of [passage] that answers the question best; null if the passage has no word. */",
            "    fun answer(question: String, passage: String): Span? = model.answer(question, passage)",
            "",
        ]
    if model.kind == "Scorer":
        second = "pair" if model.pairs else "null"
        return [
            "    /** The score of a text. */" if not model.pairs else "    /** The score of a pair of texts. */",
            f"    fun score({given}): Float = model.score(text, {second})",
            "",
        ]
    if model.multi_label and not model.pairs:
        return [
            "    /** The labels that are at least [threshold] probable, the most probable first; it may be none. */",
            "    fun classify(text: String, threshold: Float = 0.5f): List<Label> =",
            "        model.classifyAbove(text, threshold)",
            "",
        ]
    return [
        "    /** All labels, the most probable first. */",
        f"    fun classify({given}): List<Label> = model.classify({passed})",
        "",
    ]


def _labels(model: AppModel) -> list[str]:
    return [
        "",
        "    companion object {",
        "        /** In the order of the model's answers. */",
        "        val LABELS: List<String> =",
        "            listOf(",
        *(f"                {literal(label)}," for label in model.labels),
        "            )",
        "    }",
    ]
