"""Hostile texts and the looks that find them at work: in HTML, XML, Markdown, annotations and source code.

Every text holds a word that occurs nowhere else. It may be shown; it may not become an element, an attribute, a link, a
heading, a cell, a row, a fence or a command.
"""

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

WORD = "zq7x"
TEXTS = (
    f"<img src=x onerror={WORD}()>", f"<script>{WORD}</script>", f'"><svg onload={WORD}>', f"' onmouseover='{WORD}",
    f'" {WORD}="1', f"]]><{WORD}/>", f"--><{WORD}>", f"</script><script>{WORD}", f"</style><{WORD}>",
    f"</title><{WORD}>", f"[{WORD}](javascript:{WORD})", f"![{WORD}](http://{WORD}.example)",
    f"<http://{WORD}.example>", f"x | {WORD} | b", f"|{WORD}|{WORD}|", f"\n# {WORD}", f"# {WORD}", f"\n\n```{WORD}",
    f"```{WORD}\n", f"`{WORD}", f"[{WORD}]: http://{WORD}", f"x\n::error::{WORD}", f"::error::{WORD}",
    f"%0A::error::{WORD}", f"\r::set-output name={WORD}::1", f"\x1b]0;{WORD}\x07", f"\x1b[2J{WORD}", f"\x9b31m{WORD}",
    f"${{{WORD}}}", f'"; {WORD}(); //', f"*/ {WORD} /*", f"\u2028{WORD}", f"\u202e{WORD}", f"{WORD}\\",
    f"\\| {WORD} |", f"&lt;{WORD}&gt;", f"&#60;{WORD}>", f"\0{WORD}", f"{WORD}\x08\x08", f"<!--{WORD}",
    f"<!DOCTYPE {WORD}>", f"<![CDATA[{WORD}", f"*{WORD}*", f"__{WORD}__", f"<details><summary>{WORD}",
    f"- {WORD}\n- {WORD}", f"@{WORD}", f"=cmd|{WORD}", f"{{{{{WORD}}}}}", f"{{% {WORD} %}}", f"---\n{WORD}: 1\n---",
    f"\n{WORD}: yes", f"  ::warning::{WORD}", f"##[error]{WORD}", f"x ##vso[task.complete]{WORD}",
)  # fmt: skip
_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
_ACTIVE = ("href", "src", "action", "formaction", "data", "srcset", "style", "xlink:href")


class _Page(HTMLParser):
    """Everything of a page that is not text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.problem, self._script = "", False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._script = tag in ("script", "style")
        found = [name for name, value in attrs if WORD in name or (name.startswith("on") and WORD in (value or ""))]
        found += [
            name
            for name, value in attrs
            if name in _ACTIVE and (value or "").startswith(("javascript:", f"http://{WORD}"))
        ]
        if WORD in tag or found:
            self.problem = self.problem or f"<{tag} {' '.join(found)}>"

    def handle_endtag(self, tag: str) -> None:
        self._script = False

    def handle_data(self, data: str) -> None:
        if self._script and data.strip().startswith(WORD):
            self.problem = self.problem or "a script of its own"

    def handle_decl(self, decl: str) -> None:
        if WORD in decl:
            self.problem = self.problem or f"<!{decl}>"

    def handle_comment(self, data: str) -> None:
        if WORD in data:
            self.problem = self.problem or "a comment"

    def unknown_decl(self, data: str) -> None:
        if WORD in data:
            self.problem = self.problem or "a declaration"


def html(content: str) -> str:
    """What of a hostile text is at work in a page; empty if nothing is."""
    page = _Page()
    page.feed(content)
    page.close()
    return page.problem


def xml(content: str) -> str:
    """The same for XML, which must also be well-formed."""
    try:
        root = ET.fromstring(content)
    except ET.ParseError as error:
        return f"no XML: {error}"
    for element in root.iter():
        if WORD in element.tag or any(WORD in name or name.startswith("on") for name in element.attrib):
            return f"<{element.tag} {' '.join(element.attrib)}>"
    return ""


def markdown(content: str) -> str:
    """The same for Markdown as GitHub renders it."""
    from markdown_it import MarkdownIt

    if content.startswith("---\n"):  # the settings of a model card, which are YAML
        settings, _, content = content[4:].partition("\n---\n")
        if problem := _yaml(settings):
            return problem
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(content)
    before = ""
    for token in tokens:
        for part in [token, *(token.children or [])]:
            if part.type in ("html_inline", "html_block") and (problem := html(part.content)):
                return f"HTML: {problem}"
            if part.type in ("link_open", "image") and any(WORD in str(value) for value in part.attrs.values()):
                return f"a link: {dict(part.attrs)}"
            if part.type in ("em_open", "strong_open") and WORD in token.content:
                return f"emphasis: {token.content[:100]}"
            if part.type == "fence" and WORD in part.info:
                return "a fence"
        if token.type == "inline":
            if before == "heading_open" and token.content.strip() == WORD:
                return "a heading"
            if before in ("td_open", "th_open") and token.content.strip() == WORD:
                return "a cell"
        before = token.type
    return ""


def _yaml(settings: str) -> str:
    import yaml

    try:
        read = yaml.safe_load(settings)
    except yaml.YAMLError as error:
        return f"no YAML: {str(error)[:100]}"
    return "a key of YAML" if isinstance(read, dict) and WORD in read else ""


def annotations(content: str) -> str:
    """Commands that a CI server would obey."""
    known = rf"^\s*::\w+::{WORD}|^\s*::[\w-]+ name={WORD}|^\s*::error file={WORD}|##(vso)?\[[\w.]+\]{WORD}"
    found = re.search(rf"(?m){known}", content.replace("\r", "\n"))
    return f"a command: {found[0]}" if found else ""


def kotlin(content: str) -> str:
    """Text that left its string or its comment, or a template within a string."""
    if found := re.search(rf"(?<!\\)(\\\\)*\$\{{?{WORD}", content):
        return f"a template: {found[0]}"
    bare = re.sub(r'"(\\.|[^"\\\n])*"', '""', content)
    bare = re.sub(r"/\*.*?\*/|//[^\n]*", "", bare, flags=re.DOTALL)
    return "code outside of strings" if WORD in bare else ""


_LOOKS = {".html": html, ".md": markdown, ".xml": xml, ".svg": xml, ".kt": kotlin}
_RAW = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def folder(place: Path) -> str:
    """All files of an output."""
    for path in sorted(place.rglob("*")):
        if path.suffix not in _LOOKS or path.is_symlink() or not path.is_file():
            continue
        content = path.read_bytes().decode(errors="surrogateescape")
        if problem := _LOOKS[path.suffix](content):
            return f"{path.name}: {problem}"
        if (
            path.suffix != ".kt"
            and (raw := _RAW.search(content))
            and WORD in content[raw.start() - 20 : raw.start() + 20]
        ):
            return f"{path.name} has a raw {raw[0]!r}"
    return ""
