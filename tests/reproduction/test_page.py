"""The report on disk: complete, self-contained, escaped, and nobody else's files touched."""

import csv
import io
import math
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
import sample

from wayword.errors import WorkspaceError
from wayword.reproduction.report.cells import csv_of
from wayword.reproduction.report.exhibits import Column, Figure, Interval, Report, Section, Table, Text
from wayword.reproduction.report.inline import html
from wayword.reproduction.report.markdown import table_md
from wayword.reproduction.report.page import write

EVIL = "<script>alert(1)</script>\"'&|"
SVG = '<svg xmlns="http://www.w3.org/2000/svg" role="img"></svg>\n'


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    write(sample.report(), folder)
    return folder


def small(*names: str, title: str = "t") -> Report:
    """A report with a figure and a table for each name."""
    exhibits = [
        one
        for name in names
        for one in (
            Figure(name, "f", "c", SVG, "d"),
            Table(name, "t", (Column("a"),), ((1.5,),)),
        )
    ]
    return Report(title, ("lead",), (Section("all", "s", tuple(exhibits)),))


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


class Page(HTMLParser):
    """The tags of a page, checked to be closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def all(self, attribute: str) -> list[str]:
        return [str(found[attribute]) for _, found in self.tags if attribute in found]


def test_all_files_are_written(out: Path) -> None:
    names = set(files(out))
    figures = {"policies", "gains", "positions", "training", "theory", "truth", "dial"}
    tables = {"main", "small", "large", "larger", "first", "second"}
    assert names == {"report.html", "report.md"} | {f"figures/{name}.svg" for name in figures} | {
        f"tables/{name}.{kind}" for name in tables for kind in ("csv", "md")
    }


def test_the_page_is_well_formed_and_its_ids_unique(out: Path) -> None:
    page = Page((out / "report.html").read_text())
    ids = Counter(page.all("id"))
    assert [name for name, count in ids.items() if count > 1] == []
    for address in page.all("href") + page.all("xlink:href"):
        assert not address.startswith("#") or address[1:] in ids
    assert all(name in ids for name in page.all("aria-labelledby"))


def test_the_page_asks_nothing_of_the_network(out: Path) -> None:
    page = (out / "report.html").read_text()
    assert "default-src 'none'" in page
    assert set(re.findall(r"https?://[^\s\"<]+", page)) == {
        "http://www.w3.org/1999/xlink",
        "http://www.w3.org/2000/svg",
    }
    assert not re.search(r"\ssrc=|@import|<link|<img|<iframe|fetch\(|url\((?!#)", page)


def test_the_same_report_gives_the_same_bytes(out: Path, tmp_path: Path) -> None:
    write(sample.report(), tmp_path)
    write(sample.report(), tmp_path)
    assert files(tmp_path) == files(out)


def test_markdown_links_lead_to_files(out: Path) -> None:
    links = re.findall(r"!\[[^]]+\]\(([^)]+)\)", (out / "report.md").read_text())
    assert len(links) == 7
    assert all((out / link).is_file() for link in links)


def test_raw_values_come_back_from_csv(out: Path) -> None:
    table = sample.main_table()
    rows = list(csv.DictReader(io.StringIO((out / "tables/main.csv").read_text())))
    assert len(rows) == len(table.rows)
    for row, (name, first, *_, searches) in zip(rows, table.rows, strict=True):
        assert isinstance(first, Interval)
        found = Interval(*(float(row[f"Utility@1{end}"]) for end in ("", " low", " high")))
        assert (row["policy"], found, int(row["test searches"])) == (name, first, searches)


def test_csv_quotes_and_leaves_missing_values_empty() -> None:
    cells = ('a "b", c\nd', None, math.nan, Interval(0.1, -0.1, 0.3), 1 / 3)
    columns = tuple(Column(name) for name in ("text", "none", "nan", "interval", "third"))
    table = Table("t", "t", columns, (cells, ("e", 1, 2.0, None, 0.0)))
    first, second = csv.DictReader(io.StringIO(csv_of(table)))
    assert (first["text"], first["none"], first["interval low"]) == (cells[0], "", "-0.1")
    assert math.isnan(float(first["nan"]))
    assert float(first["third"]) == 1 / 3
    assert (second["interval"], second["interval high"]) == ("", "")


def test_a_markdown_table_has_as_many_cells_in_every_line() -> None:
    rows = (("a|b\nc", Interval(1, 0, 2)), ("|", None), ("\\|", 3.0))
    lines = table_md(Table("t", "t", (Column("x|y"), Column("z")), rows, strong=frozenset({0}))).splitlines()[
        2:
    ]
    assert len(lines) == 2 + len(rows)
    for line in lines:
        unescaped = re.sub(r"\\.", "", line)
        assert unescaped.count("|") == 3, line
    assert lines[1] == "| :--- | ---: |"
    assert lines[2] == "| **a\\|b c** | **1.000 (0.000–2.000)** |"


def evil() -> Report:
    table = Table("t", EVIL, (Column(EVIL),), ((EVIL,),), EVIL, frozenset({0}))
    figure = Figure("f", EVIL, EVIL, SVG, EVIL, EVIL)
    texts = (Text(EVIL), Text(EVIL, "item"), Text(EVIL, "heading"), Text(f"**{EVIL}** *{EVIL}* `{EVIL}`"))
    return Report(EVIL, (EVIL,), (Section("s", EVIL, (table, figure, *texts)),))


def test_no_field_can_bring_a_tag_into_the_page(tmp_path: Path) -> None:
    write(evil(), tmp_path)
    text = (tmp_path / "report.html").read_text()
    assert [tag for tag, _ in Page(text).tags].count("script") == 1
    assert text.count("&lt;script&gt;alert(1)") == text.count("alert(1)") >= 14
    for name in ("report.md", "tables/t.md"):
        found = re.sub(r"`[^`]*`", "", (tmp_path / name).read_text())
        assert re.findall(r"(?<!\\)<(?!!-- files)", found) == []


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "data:text/html,x", "vbscript:x", "//evil.example", "JAVASCRIPT:a"]
)
def test_a_link_leads_to_no_script(address: str) -> None:
    assert "<a" not in html(f"[x]({address})")


@pytest.mark.parametrize(
    "address", ["https://example.org/a?b=1", "#training", "tables/main.csv", "mailto:a@example.org"]
)
def test_a_link_leads_to_pages_and_files(address: str) -> None:
    assert html(f"[x]({address})") == f'<a href="{address}">x</a>'


def test_numbers_are_aligned_and_sort_by_their_raw_value(out: Path) -> None:
    page = (out / "report.html").read_text()
    assert '<td class="number" data-value="0.931">0.931 <small>0.919–0.942</small></td>' in page
    assert '<td class="number" data-missing>–</td>' in page
    assert '<tr class="strong"><td>unbiased</td>' in page


def test_items_stand_in_one_list(out: Path) -> None:
    assert (out / "report.html").read_text().count("<ul>") == 1
    assert "* below 3,000 searches `popular` is as good;\n* above" in (out / "report.md").read_text()


def test_files_of_an_earlier_report_go_and_those_of_others_stay(tmp_path: Path) -> None:
    write(small("old", "kept"), tmp_path)
    foreign = ("figures/mine.svg", "tables/mine.csv", "tables/notes.txt", "notes.md", "tables/old.xlsx")
    for name in foreign:
        (tmp_path / name).write_text("mine")
    write(small("kept", "new"), tmp_path)
    ours = {f"figures/{n}.svg" for n in ("kept", "new")} | {
        f"tables/{n}.{k}" for n in ("kept", "new") for k in ("csv", "md")
    }
    assert set(files(tmp_path)) == {"report.md", "report.html", *ours, *foreign}
    assert all((tmp_path / name).read_text() == "mine" for name in foreign)


def test_a_forged_list_of_files_removes_nothing_outside(tmp_path: Path) -> None:
    kept = ("precious.md", "tables/../precious.md", "figures/a.svg.md")
    (tmp_path / "figures").mkdir()
    (tmp_path / "tables").mkdir()
    for name in kept:
        (tmp_path / name).write_text("mine")
    (tmp_path / "figures" / "link.svg").symlink_to(tmp_path / "precious.md")
    (tmp_path / "report.md").write_text(f"<!-- files of this report: {' '.join(kept)} figures/link.svg -->\n")
    write(small("a"), tmp_path)
    assert all((tmp_path / name).read_text() == "mine" for name in (*kept, "figures/link.svg"))


@pytest.mark.parametrize(
    "report",
    [
        small("a", "a"),
        replace(small("a"), sections=small("a").sections * 2),
        Report("t", (), (Section("contents", "t", ()),)),
        Report("t", (), (Section("figure-a", "t", (Figure("a", "f", "c", SVG, "d"),)),)),
    ],
)
def test_names_used_twice_are_refused_before_anything_is_written(report: Report, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="used once"):
        write(report, tmp_path)
    assert files(tmp_path) == {}


@pytest.mark.parametrize("name", ["../a", "a/b", "A", "", ".a", "a b", 'a"'])
def test_names_that_are_no_file_names_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected lower-case letters"):
        write(small(name), tmp_path)


def test_a_row_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    table = Table("t", "t", (Column("a"), Column("b")), ((1,),))
    with pytest.raises(ValueError, match="does not fit"):
        write(Report("t", (), (Section("s", "s", (table,)),)), tmp_path)


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(WorkspaceError, match="expected a folder"):
        write(small("a"), tmp_path / "out")


def test_an_empty_report_and_an_empty_table_are_written(tmp_path: Path) -> None:
    write(Report("t", (), ()), tmp_path)
    write(Report("t", (), (Section("s", "s", (Table("t", "t", (Column("a"),), ()),)),)), tmp_path)
    assert (tmp_path / "tables/t.csv").read_text() == "a\n"
    Page((tmp_path / "report.html").read_text())
