"""A report as Markdown, from Jinja2 templates of fixed prose.

A template shows an exhibit by `{{ table(NAME, TITLE, NOTE) }}` or `{{ figure(NAME, TITLE, NOTE) }}`; the note stands
below a table and above a figure. One with values is `{% call table(NAME, TITLE) %}…{% endcall %}`: values are escaped
there, they are text and never marks.
"""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from jinja2 import BaseLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from wayword.report.exhibits import Figure, Section, Table, csv_of, number, shown

TEMPLATES = PackageLoader("wayword.paper")
Files = dict[str, str]


def plain(value: Any) -> Markup:
    r"""A text without marks as Markdown: each character that would be a mark or a tag is escaped.

    >>> print(plain("a|b *c* <d>"))
    a\|b \*c\* \<d\>
    """
    escaped = re.sub(r"([\\`*_\[\]<>|~&$])", r"\\\1", " ".join(str(value).split()))
    return value if isinstance(value, Markup) else Markup(escaped)  # noqa: S704 - escaped just now


def code(text: str) -> Markup:
    """A text as code, without backticks."""
    return Markup(f"`{text.replace('`', '')}`")  # noqa: S704 - code needs no escapes


FILTERS = {"number": number, "percent": "{:.0%}".format, "amount": partial(shown, sign=True), "code": code}


def render(title: str, sections: Sequence[Section], loader: BaseLoader = TEMPLATES) -> tuple[str, Files]:
    """The text of a report, and the files beside it: its tables and figures."""
    contents = [exhibit for section in sections for exhibit in section.exhibits]
    exhibits: dict[Any, Any] = {(type(exhibit), exhibit.name): exhibit for exhibit in contents}
    files: Files = {}

    def table(name: str, title: str, note: str = "", caller: Callable[[], str] = str) -> Markup:
        body = f"{markdown_of(exhibits[Table, name])}\n\n{note}{caller().strip()}".strip()
        files[f"tables/{name}.csv"] = csv_of(exhibits[Table, name])
        files[f"tables/{name}.md"] = f"# {plain(title)}\n\n{body}\n"
        return Markup(f"\n\n### {plain(title)}\n\n{body}\n\n")  # noqa: S704 - of escaped parts

    def figure(name: str, title: str, note: str = "", caller: Callable[[], str] = str) -> Markup:
        files[f"figures/{name}.svg"] = exhibits[Figure, name].svg
        image = f"![{plain(exhibits[Figure, name].description)}](figures/{name}.svg)"
        return Markup(f"\n\n### {plain(title)}\n\n{note}{caller().strip()}\n\n{image}\n\n")  # noqa: S704 - as above

    made = Environment(loader=loader, autoescape=True, finalize=plain, undefined=StrictUndefined)
    made.filters |= FILTERS
    made.globals |= {"table": table, "figure": figure}
    texts = [f"# {plain(title)}"]
    for section in sections:
        text = made.get_template(f"{section.name}.md.jinja").render(**section.values)
        texts.append(re.sub(r"\n\s*\n", "\n\n", text.strip()))
    return "\n\n".join(texts) + "\n", files


def markdown_of(table: Table) -> str:
    """The rows of a table; columns with numbers, and no text, on the right."""
    lines: list[list[str]] = [[plain(column.name) for column in table.columns]]
    columns = zip(*table.rows, strict=True) if table.rows else [()] * len(table.columns)
    kinds = [{type(cell) for cell in cells} - {type(None)} for cells in columns]
    lines.append(["---:" if kind and str not in kind else ":---" for kind in kinds])
    for index, row in enumerate(table.rows):
        cells = zip(row, table.columns, strict=True)
        texts = [plain(shown(cell, column.digits, sign=column.sign)) for cell, column in cells]
        lines.append([f"**{text}**" if text and index in table.strong else text for text in texts])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
