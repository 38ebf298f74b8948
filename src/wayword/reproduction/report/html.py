"""A report as one page of HTML that needs nothing else: no request leaves it, and it opens from a disk."""

import base64
import hashlib
import math
from collections.abc import Iterator
from html import escape
from importlib.resources import files
from itertools import groupby

from wayword.reproduction.report import inline
from wayword.reproduction.report.cells import numeric, shown, sort_value
from wayword.reproduction.report.exhibits import Cell, Column, Exhibit, Figure, Report, Section, Table, Text


def report_html(report: Report) -> str:
    """The whole report."""
    style, script = _resource("page.css"), _resource("page.js")
    title = escape(report.title)
    links = "\n".join(f'<li><a href="#{one.name}">{escape(one.title)}</a></li>' for one in report.sections)
    lead = "\n".join(f"<p>{inline.html(sentence)}</p>" for sentence in report.lead)
    sections = "\n".join(_section(section) for section in report.sections)
    summary = f'<div class="lead">\n{lead}\n</div>\n' if lead else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_policy(script)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<div class="page">
<header>
<h1>{title}</h1>
{summary}</header>
<nav aria-labelledby="contents">
<h2 id="contents">Contents</h2>
<ol>
{links}
</ol>
</nav>
<main>
{sections}
</main>
</div>
<script>{script}</script>
</body>
</html>
"""


def _resource(name: str) -> str:
    return (files("wayword.reproduction.report") / name).read_text(encoding="utf-8")


def _policy(script: str) -> str:
    """Nothing may be fetched, and no script may run but ours."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _section(section: Section) -> str:
    blocks: list[str] = []
    for is_item, group in groupby(section.exhibits, lambda one: isinstance(one, Text) and one.kind == "item"):
        found = [_exhibit(one) for one in group]
        blocks += ["<ul>", *found, "</ul>"] if is_item else found
    body = "\n".join(blocks)
    return f'<section id="{section.name}">\n<h2>{escape(section.title)}</h2>\n{body}\n</section>'


def _exhibit(exhibit: Exhibit) -> str:
    match exhibit:
        case Table():
            return _table(exhibit)
        case Figure():
            return _figure(exhibit)
        case Text(text, kind):
            tag = {"paragraph": "p", "item": "li", "heading": "h3"}[kind]
            return f"<{tag}>{inline.html(text)}</{tag}>"


def _scroll(kind: str, title: str, content: str) -> str:
    """A box in which wide content scrolls by itself, with the keyboard too."""
    return f'<div class="scroll {kind}" role="region" tabindex="0" aria-label="{escape(title)}">\n{content}\n</div>'


def _figure(figure: Figure) -> str:
    caption = f"<figcaption>{inline.html(figure.caption)}</figcaption>\n" if figure.caption else ""
    drawing = _scroll("drawing", figure.title, figure.svg.strip())
    return (
        f'<figure id="figure-{figure.name}">\n<h3>{escape(figure.title)}</h3>\n'
        f'<p class="conclusion">{inline.html(figure.conclusion)}</p>\n{drawing}\n{caption}</figure>'
    )


def _table(table: Table) -> str:
    right = numeric(table)
    head = "".join(
        f'<th scope="col"{_class(is_right)}>{escape(column.name)}</th>'
        for column, is_right in zip(table.columns, right, strict=True)
    )
    content = f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n"
    content += "\n".join(_rows(table, right)) + "\n</tbody>\n</table>"
    note = f'<p class="note">{inline.html(table.note)}</p>\n' if table.note else ""
    return (
        f'<div class="table" id="table-{table.name}">\n<h3>{escape(table.title)}</h3>\n'
        f"{_scroll('rows', table.title, content)}\n{note}</div>"
    )


def _rows(table: Table, right: tuple[bool, ...]) -> Iterator[str]:
    for index, row in enumerate(table.rows):
        cells = zip(row, table.columns, right, strict=True)
        strong = ' class="strong"' if index in table.strong else ""
        yield f"<tr{strong}>{''.join(_cell(*cell) for cell in cells)}</tr>"


def _cell(cell: Cell, column: Column, right: bool) -> str:
    value, interval = shown(cell, column)
    small = f" <small>{escape(interval)}</small>" if interval else ""
    return f"<td{_class(right)}{_sorts(cell)}>{escape(value)}{small}</td>"


def _sorts(cell: Cell) -> str:
    """What the script sorts by: the text if nothing is said."""
    if isinstance(cell, str):
        return ""
    value = sort_value(cell)
    if value is None or math.isnan(value):
        return " data-missing"
    return f' data-value="{str(value).replace("inf", "Infinity")}"'


def _class(right: bool) -> str:
    return ' class="number"' if right else ""
