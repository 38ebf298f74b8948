"""A report as one page of HTML that needs nothing else: no request leaves it, and it opens from a disk."""

import base64
import hashlib
from collections.abc import Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

TEMPLATES = PackageLoader("wayword.report")


def environment() -> Environment:
    """Templates in which every value is escaped and a missing one is an error."""
    return Environment(
        loader=TEMPLATES, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def html_page(
    title: str, *, lead: Markup, body: Markup, contents: Sequence[tuple[str, str]], style: str = ""
) -> str:
    """The page: `contents` are the anchors and headings of the body, `style` names a style sheet of its own."""
    templates = environment()
    script = templates.get_template("page.js").render()
    return templates.get_template("page.html.jinja").render(
        title=title,
        lead=lead,
        body=body,
        contents=contents,
        style=style,
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
