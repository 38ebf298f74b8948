"""A report on disk: its Markdown, the same as one page of HTML that needs nothing else (no request leaves it, and it
opens from a disk), and the figures and tables by themselves."""

import base64
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise
from pathlib import Path

from jinja2 import BaseLoader
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from wayword.errors import WorkspaceError
from wayword.paper.report.markdown import TEMPLATES, render
from wayword.report.exhibits import Section, Table
from wayword.report.html_page import html_page
from wayword.store.artefact import write_atomically

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_OURS = re.compile(rf"figures/{_NAME.pattern}\.svg|tables/{_NAME.pattern}\.(csv|md)")
_LIST = "<!-- files of this report:"
_BOX = '<div class="scroll rows" role="region" tabindex="0" aria-label="{}">\n<table>\n'
_ADDRESS = re.compile(r"https?://|mailto:|#|(?!//)[\w./-]+(#[\w.-]*)?$")
"""The addresses that a link may have: never a script."""


def write(out: Path, title: str, sections: Sequence[Section], loader: BaseLoader = TEMPLATES) -> None:
    """Write `report.html`, `report.md`, `figures/` and `tables/`, and remove those of an earlier report.

    The two pages come last, so that the files they name are there. Files that no report wrote are left alone.
    """
    _check(sections)
    if out.exists() and not out.is_dir():
        raise WorkspaceError(f"{out} is a file; expected a folder for the report. Give another.")
    report, files = render(title, sections, loader)
    page = page_of(report, [section.name for section in sections[1:]], files)
    for name, text in files.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(out / name, text)
    for name in sorted(_earlier(out / "report.md") - files.keys()):
        if (out / name).is_file() and not (out / name).is_symlink():
            (out / name).unlink()
    out.mkdir(parents=True, exist_ok=True)
    write_atomically(out / "report.md", f"{report}\n{_LIST} {' '.join(files)} -->\n")
    write_atomically(out / "report.html", page)


def parser() -> MarkdownIt:
    """CommonMark with tables in boxes that scroll, with the keyboard too; HTML in the text stays text."""
    made = MarkdownIt("commonmark", {"html": False}).enable("table")
    made.validateLink = lambda url: bool(_ADDRESS.match(url))  # type: ignore[method-assign]
    made.add_render_rule(
        "table_open", lambda _, tokens, at, *__: _BOX.format(escape(tokens[at].meta["label"]))
    )
    made.add_render_rule("table_close", lambda *_: "</table>\n</div>\n")
    return made


def page_of(text: str, names: Sequence[str], figures: Mapping[str, str]) -> str:
    """The page: `names` are the anchors of the headings of level 2, `figures` the drawings by their addresses."""
    markdown = parser()
    tokens = markdown.parse(text)
    headings = [at for at, token in enumerate(tokens) if token.type == "heading_open" and token.tag == "h2"]
    for at, name in zip(headings, names, strict=True):
        tokens[at].attrSet("id", name)
    label = ""
    for before, token in pairwise(tokens):
        label = _text(token) if before.type == "heading_open" else label
        token.meta["label"] = label
        if token.type in ("th_open", "td_open"):
            token.attrs = {"class": "number"} if "right" in str(token.attrs.get("style")) else {}
        if token.type == "th_open":
            token.attrs["scope"] = "col"
        for image in (child for child in token.children or () if child.type == "image"):
            drawing = base64.b64encode(figures[str(image.attrs["src"])].encode()).decode()
            image.attrs["src"] = f"data:image/svg+xml;base64,{drawing}"
            before.attrs = {"class": "scroll drawing", "role": "region", "tabindex": "0", "aria-label": label}
    parts = (tokens[: headings[0]], tokens[headings[0] :]) if headings else (tokens, [])
    lead, body = (markdown.renderer.render(part, markdown.options, {}) for part in parts)
    return html_page(
        _text(tokens[1]),
        lead=Markup(lead),  # noqa: S704 - from Markdown in which HTML stays text
        body=Markup(body),  # noqa: S704
        contents=[(name, _text(tokens[at + 1])) for at, name in zip(headings, names, strict=True)],
    )


def _text(inline: Token) -> str:
    return "".join(child.content for child in inline.children or ())


def _earlier(page: Path) -> set[str]:
    """The files that an earlier report lists as its own, and that could be of a report."""
    if not page.is_file():
        return set()
    last = page.read_text(encoding="utf-8", errors="replace").rstrip().rpartition("\n")[2]
    return {name for name in last.split() if last.startswith(_LIST) and _OURS.fullmatch(name)}


def _check(sections: Sequence[Section]) -> None:
    """Names are those of files and anchors, each used once; a row has as many cells as there are columns."""
    exhibits = [one for section in sections for one in section.exhibits]
    anchors = ["contents", *(section.name for section in sections)]
    names = [*(("anchor", name) for name in anchors), *((type(one).__name__, one.name) for one in exhibits)]
    for (_, name), times in Counter(names).items():
        if not _NAME.fullmatch(name):
            raise ValueError(f"Found the name {name!r}, expected lower-case letters, digits, - and _.")
        if times > 1:
            raise ValueError(f"Names of a report are used once; found {name} twice.")
    for table in (one for one in exhibits if isinstance(one, Table)):
        if any(len(row) != len(table.columns) for row in table.rows):
            raise ValueError(f"The table {table.name!r} has a row that does not fit its columns.")
