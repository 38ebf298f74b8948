"""Markdown's inline marks (`code`, **strong**, *emphasis*, [text](address)) as HTML, and plain text as Markdown."""

import re
from html import escape

_MARK = re.compile(r"`([^`]+)`|\*\*(.+?)\*\*|\*(.+?)\*|\[([^\]]+)\]\(([^)\s]+)\)", re.DOTALL)
_ADDRESS = re.compile(r"https?://|mailto:|#|(?!//)[\w./-]+(#[\w.-]*)?$")
"""Where a link may lead: never to a script."""


def html(text: str) -> str:
    """Inline marks as HTML; everything else is text.

    >>> html("**1 < 2**, see `a*b` and [the paper](https://example.org/?a=1&b=2)")
    '<strong>1 &lt; 2</strong>, see <code>a*b</code> and <a href="https://example.org/?a=1&amp;b=2">the paper</a>'
    """
    found, at = [], 0
    for mark in _MARK.finditer(text):
        found += [escape(text[at : mark.start()]), _marked(mark)]
        at = mark.end()
    return "".join([*found, escape(text[at:])])


def _marked(mark: re.Match[str]) -> str:
    code, strong, emphasis, words, address = mark.groups()
    if code is not None:
        return f"<code>{escape(code)}</code>"
    if strong is not None:
        return f"<strong>{html(strong)}</strong>"
    if emphasis is not None:
        return f"<em>{html(emphasis)}</em>"
    if not _ADDRESS.match(address):
        return escape(mark.group())
    return f'<a href="{escape(address)}">{html(words)}</a>'


def markdown(text: str) -> str:
    """A text with inline marks, in one line, in which no HTML is left outside of code."""
    parts = re.split(r"(`[^`]+`)", " ".join(text.split()))
    return "".join(part if part.startswith("`") else part.replace("<", "&lt;") for part in parts)


def plain(text: str) -> str:
    r"""A text without marks as Markdown: what would be a mark, a tag or the end of a cell is said to be none.

    >>> plain("a|b *c* <d>")
    'a\\|b \\*c\\* \\<d\\>'
    """
    return re.sub(r"([\\`*_\[\]<>|~&$])", r"\\\1", " ".join(text.split()))
