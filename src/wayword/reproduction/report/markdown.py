"""A report as Markdown: tables in the text, figures as links."""

from collections.abc import Iterator

from wayword.reproduction.report.cells import numeric, shown
from wayword.reproduction.report.exhibits import Cell, Column, Exhibit, Figure, Report, Table, Text
from wayword.reproduction.report.inline import markdown, plain


def report_md(report: Report) -> str:
    """The whole report."""
    blocks = [f"# {plain(report.title)}", *(markdown(sentence) for sentence in report.lead)]
    for section in report.sections:
        blocks.append(f"## {plain(section.title)}")
        for exhibit in section.exhibits:
            blocks += _blocks(exhibit)
    return _joined(blocks)


def table_md(table: Table) -> str:
    """One table with its title and note."""
    return _joined([f"# {plain(table.title)}", *_body(table)])


def _joined(blocks: list[str]) -> str:
    """Blocks with an empty line between them, but none between the items of a list."""
    text = ""
    for block in blocks:
        listed = block.startswith("* ") and text.rpartition("\n\n")[2].startswith("* ")
        text += ("" if not text else "\n" if listed else "\n\n") + block
    return text + "\n"


def _blocks(exhibit: Exhibit) -> Iterator[str]:
    match exhibit:
        case Table():
            yield f"### {plain(exhibit.title)}"
            yield from _body(exhibit)
        case Figure():
            yield f"### {plain(exhibit.title)}"
            yield f"**{markdown(exhibit.conclusion.replace('**', ''))}**"
            yield f"![{plain(exhibit.description)}](figures/{exhibit.name}.svg)"
            if exhibit.caption:
                yield markdown(exhibit.caption)
        case Text(text, kind):
            yield {"paragraph": "", "item": "* ", "heading": "### "}[kind] + markdown(text)


def _body(table: Table) -> Iterator[str]:
    rules = ["---:" if right else ":---" for right in numeric(table)]
    lines = [_line([plain(column.name) for column in table.columns]), _line(rules)]
    for index, row in enumerate(table.rows):
        cells = [_cell(cell, column) for cell, column in zip(row, table.columns, strict=True)]
        lines.append(_line([f"**{cell}**" if cell and index in table.strong else cell for cell in cells]))
    yield "\n".join(lines)
    if table.note:
        yield markdown(table.note)


def _cell(cell: Cell, column: Column) -> str:
    value, interval = shown(cell, column)
    return plain(f"{value} ({interval})" if interval else value)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
