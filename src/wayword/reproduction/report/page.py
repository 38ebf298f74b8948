"""A report on disk: a page, the same as Markdown, and the figures and tables by themselves."""

import re
from collections.abc import Sequence
from pathlib import Path

from wayword.errors import WorkspaceError
from wayword.reproduction.report.cells import csv_of
from wayword.reproduction.report.exhibits import Figure, Report, Table
from wayword.reproduction.report.html import report_html
from wayword.reproduction.report.markdown import report_md, table_md
from wayword.store.artefact import write_atomically

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_OURS = re.compile(rf"figures/{_NAME.pattern}\.svg|tables/{_NAME.pattern}\.(csv|md)")
_LIST = "<!-- files of this report:"


def write(report: Report, out: Path) -> None:
    """`report.html`, `report.md`, `figures/` and `tables/`; what an earlier report wrote and this one does not, goes.

    The two pages come last, so that what they name is there. Files that no report wrote are left alone.
    """
    _check(report)
    if out.exists() and not out.is_dir():
        raise WorkspaceError(f"{out} is a file; expected a folder for the report. Give another.")
    found = _files(report)
    for folder in ("figures", "tables"):
        (out / folder).mkdir(parents=True, exist_ok=True)
    for name, text in found.items():
        write_atomically(out / name, text)
    for name in sorted(_earlier(out / "report.md") - found.keys()):
        if (out / name).is_file() and not (out / name).is_symlink():
            (out / name).unlink()
    write_atomically(out / "report.md", f"{report_md(report)}\n{_LIST} {' '.join(found)} -->\n")
    write_atomically(out / "report.html", report_html(report))


def _files(report: Report) -> dict[str, str]:
    """The text of every file but the two pages."""
    files = {}
    for section in report.sections:
        for exhibit in section.exhibits:
            match exhibit:
                case Figure(name=name, svg=svg):
                    files[f"figures/{name}.svg"] = svg
                case Table(name=name):
                    files[f"tables/{name}.csv"] = csv_of(exhibit)
                    files[f"tables/{name}.md"] = table_md(exhibit)
    return files


def _earlier(page: Path) -> set[str]:
    """The files that an earlier report says it wrote, and that could be of a report."""
    if not page.is_file():
        return set()
    last = page.read_text(encoding="utf-8", errors="replace").rstrip().rpartition("\n")[2]
    return {
        name for name in last.removeprefix(_LIST).split() if last.startswith(_LIST) and _OURS.fullmatch(name)
    }


def _check(report: Report) -> None:
    """Names are those of files and anchors, each used once; a row has as many cells as there are columns."""
    exhibits = [one for section in report.sections for one in section.exhibits]
    tables = [one for one in exhibits if isinstance(one, Table)]
    figures = [one.name for one in exhibits if isinstance(one, Figure)]
    sections = [section.name for section in report.sections]
    for name in (*sections, *figures, *(table.name for table in tables)):
        if not _NAME.fullmatch(name):
            raise ValueError(f"Found the name {name!r}, expected lower-case letters, digits, - and _.")
    anchors = ["contents", *sections, *(f"figure-{name}" for name in figures)]
    _once([*anchors, *(f"table-{table.name}" for table in tables)])
    for table in tables:
        if any(len(row) != len(table.columns) for row in table.rows):
            raise ValueError(f"The table {table.name!r} has a row that does not fit its columns.")


def _once(names: Sequence[str]) -> None:
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"Names of a report are used once; found {', '.join(twice)} twice.")
