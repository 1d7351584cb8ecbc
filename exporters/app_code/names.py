"""Names that Java and Kotlin take: of packages and classes, and of a folder in the assets."""

import re

from models_tf.errors import InputError

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Java's reserved words, and those of Kotlin that cannot be a name without backticks.
_RESERVED_TEXT = (
    "abstract assert boolean break byte case catch char class const continue default do double else enum extends false "
    "final finally float for goto if implements import instanceof int interface long native new null package private "
    "protected public return short static strictfp super switch synchronized this throw throws transient true try void "
    "volatile while _ as fun in is object typealias typeof val var when"
)
_RESERVED = frozenset(_RESERVED_TEXT.split())
# What the written class imports or uses: a class of the same name would hide it.
_TAKEN_TEXT = (
    "AssetFiles AutoCloseable Boolean Context Float Int Label LiteRtEngine List QuestionAnswerer SelfTest Span String "
    "TextClassifier WordTagger"
)
_TAKEN = frozenset(_TAKEN_TEXT.split())
_LONGEST = 80


def check_package(package: str) -> None:
    """A package name as an app has it: two parts or more, each of them a name."""
    parts = package.split(".")
    if len(parts) < 2 or not all(_is_name(part) for part in parts) or len(package) > 200:
        raise InputError(
            "--package must be a Java package of two names or more, none of them a reserved word of Java or Kotlin, "
            f"such as com.example.app. Received: {package[:200]!r}."
        )


def check_class_name(name: str) -> None:
    if not _is_name(name) or len(name) > _LONGEST or name in _TAKEN:
        reason = "a name that the written class uses" if name in _TAKEN else repr(name[:200])
        raise InputError(
            f"--class-name must be the name of a Kotlin class, such as IntentClassifier. Received: {reason}."
        )


def class_name_of(model: str, kind: str) -> str:
    """Of a model's name, such as `prado`, and of what it is: PradoClassifier."""
    words = re.findall(r"[A-Za-z0-9]+", model)
    name = "".join(word[0].upper() + word[1:] for word in words)
    if not name or name[0].isdigit():
        name = f"Model{name}"
    name = name[: _LONGEST - len(kind)]
    return name if name.lower() == kind.lower() else f"{name}{kind}"


def asset_name_of(folder: str) -> str:
    """A folder's name that Android's packager takes: it leaves out those that begin with a dot or an underscore."""
    return re.sub(r"[^A-Za-z0-9.-]+", "-", folder).strip(".-_")[:_LONGEST] or "model"


def _is_name(name: str) -> bool:
    return _IDENTIFIER.fullmatch(name) is not None and name not in _RESERVED
