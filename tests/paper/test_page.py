"""The report on disk: complete, self-contained, escaped, and nobody else's files touched."""

import csv
import io
import math
import re
from collections import Counter
from pathlib import Path

import pytest
import sample

from parsed_page import Page
from wayword.errors import WorkspaceError
from wayword.paper.report.markdown import markdown_of
from wayword.paper.report.page import parser, write
from wayword.report.exhibits import Column, Figure, Interval, Section, Table, csv_of

EVIL = "<script>alert(1)</script>\"'&|"
SVG = '<svg xmlns="http://www.w3.org/2000/svg"></svg>\n'


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    sample.write_sample(folder)
    return folder


def small(*names: str) -> list[Table | Figure]:
    """A figure and a table for each name."""
    made: list[Table | Figure] = []
    for name in names:
        made += [Figure(name, SVG, "d"), Table(name, (Column("a"),), ((1.5,),))]
    return made


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_all_files_are_written(out: Path) -> None:
    figures, tables = {"policies", "positions", "training", "truth"}, {"main", "small", "large"}
    assert set(files(out)) == {"report.html", "report.md"} | {f"figures/{name}.svg" for name in figures} | {
        f"tables/{name}.{kind}" for name in tables for kind in ("csv", "md")
    }


def test_the_page_is_well_formed_and_its_ids_unique(out: Path) -> None:
    page = Page((out / "report.html").read_text())
    ids = Counter(page.all("id"))
    assert [name for name, count in ids.items() if count > 1] == []
    assert {"overview", "training"} <= set(ids)
    for address in page.all("href"):
        assert not address.startswith("#") or address[1:] in ids
    assert all(name in ids for name in page.all("aria-labelledby"))


def test_every_box_that_scrolls_and_every_figure_has_a_name(out: Path) -> None:
    page = Page((out / "report.html").read_text())
    boxes = [found for _, found in page.tags if "scroll" in str(found.get("class"))]
    assert len(boxes) == 7
    assert all(box["role"] == "region" and box["tabindex"] == "0" and box["aria-label"] for box in boxes)
    alts = [str(found["alt"]) for tag, found in page.tags if tag == "img"]
    assert len(alts) == 4
    assert sample.training().description in alts


def test_the_page_asks_nothing_of_the_network(out: Path) -> None:
    page = (out / "report.html").read_text()
    assert "default-src 'none'; img-src data:" in page
    assert re.findall(r"https?://[^\s\"<]+", page) == []
    assert all(address.startswith("data:image/svg+xml;base64,") for address in Page(page).all("src"))
    assert not re.search(r"@import|<link|<iframe|fetch\(|url\((?!#)", page)


def test_the_same_report_gives_the_same_bytes(out: Path, tmp_path: Path) -> None:
    sample.write_sample(tmp_path)
    sample.write_sample(tmp_path)
    assert files(tmp_path) == files(out)


def test_markdown_links_lead_to_files(out: Path) -> None:
    links = re.findall(r"!\[[^]]+\]\(([^)]+)\)", (out / "report.md").read_text())
    assert len(links) == 4
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
    table = Table("t", columns, (cells, ("e", 1, 2.0, None, 0.0)))
    first, second = csv.DictReader(io.StringIO(csv_of(table)))
    assert (first["text"], first["none"], first["interval low"]) == (cells[0], "", "-0.1")
    assert math.isnan(float(first["nan"]))
    assert float(first["third"]) == 1 / 3
    assert (second["interval"], second["interval high"]) == ("", "")


def test_a_markdown_table_has_as_many_cells_in_every_line() -> None:
    rows = (("a|b\nc", Interval(1, 0, 2)), ("|", None), ("\\|", 3.0))
    table = Table("t", (Column("x|y"), Column("z")), rows, frozenset({0}))
    lines = markdown_of(table).splitlines()
    assert len(lines) == 2 + len(rows)
    for line in lines:
        unescaped = re.sub(r"\\.", "", line)
        assert unescaped.count("|") == 3, line
    assert lines[1] == "| :--- | ---: |"
    assert lines[2] == "| **a\\|b c** | **1.000 (0.000–2.000)** |"


def test_a_table_by_itself_has_its_title_and_its_note(out: Path) -> None:
    text = (out / "tables/main.md").read_text()
    assert text.startswith("# Utility of each policy\n\n| policy |")
    assert text.endswith("Higher is better; **1** is what people typed.\n")


def test_the_page_and_the_markdown_have_the_same_cells(out: Path) -> None:
    page = (out / "report.html").read_text()
    found = re.findall(r"<td[^>]*>(.*?)</td>", page)
    assert len(found) == sum(
        len(t.rows) * len(t.columns) for t in (sample.main_table(), *(sample.table("a"),) * 2)
    )
    assert "0.902 (0.890–0.913)" in found
    assert "<strong>0.931 (0.919–0.942)</strong>" in found
    assert "| 0.902 (0.890–0.913) |" in (out / "report.md").read_text()


def test_no_field_can_bring_a_tag_into_the_page(tmp_path: Path) -> None:
    table = Table("t", (Column(EVIL), Column(EVIL)), ((EVIL, 1.0), (EVIL, None)))
    sample.write_small(tmp_path, table, Figure("f", SVG, EVIL), title=EVIL, text=EVIL)
    text = (tmp_path / "report.html").read_text()
    assert [tag for tag, _ in Page(text).tags].count("script") == 1
    assert text.count("&lt;script&gt;alert(1)") == text.count("alert(1)") >= 10
    for name in ("report.md", "tables/t.md"):
        found = re.sub(r"`[^`]*`", "", (tmp_path / name).read_text())
        assert re.findall(r"(?<!\\)<(?!!-- files)", found) == []


@pytest.mark.parametrize(
    "mark", ["**a**", "*a*", "`a`", "[a](b)", "a_b_c", "a\n\n# b", "1. a", "<b>", "&amp;", "$x$"]
)
def test_a_value_is_text_whatever_marks_it_holds(mark: str, tmp_path: Path) -> None:
    sample.write_small(tmp_path, value=f"x{mark}")
    assert not re.search(
        r"<(strong|em|code|b|h1 |ol)>", (tmp_path / "report.html").read_text().split("<main>")[1]
    )


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "data:text/html,x", "vbscript:x", "//evil.example", "JAVASCRIPT:a"]
)
def test_a_link_leads_to_no_script(address: str) -> None:
    assert "<a" not in parser().render(f"[x]({address})")


@pytest.mark.parametrize(
    "address", ["https://example.org/a?b=1", "#training", "tables/main.csv", "mailto:a@example.org"]
)
def test_a_link_leads_to_pages_and_files(address: str) -> None:
    assert parser().render(f"[x]({address})") == f'<p><a href="{address}">x</a></p>\n'


def test_numbers_are_aligned(out: Path) -> None:
    page = (out / "report.html").read_text()
    assert '<td class="number">0.902 (0.890–0.913)</td>' in page
    assert '<td class="number">–</td>' in page
    assert '<th class="number" scope="col">Utility@1</th>' in page


def test_items_stand_in_one_list(out: Path) -> None:
    assert (out / "report.html").read_text().count("<ul>") == 1
    assert "* below 3,000 searches `popular` is as good;\n* above" in (out / "report.md").read_text()


def test_files_of_an_earlier_report_go_and_those_of_others_stay(tmp_path: Path) -> None:
    sample.write_small(tmp_path, *small("old", "kept"))
    foreign = ("figures/mine.svg", "tables/mine.csv", "tables/notes.txt", "notes.md", "tables/old.xlsx")
    for name in foreign:
        (tmp_path / name).write_text("mine")
    sample.write_small(tmp_path, *small("kept", "new"))
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
    sample.write_small(tmp_path, *small("a"))
    assert all((tmp_path / name).read_text() == "mine" for name in (*kept, "figures/link.svg"))


@pytest.mark.parametrize(
    "sections",
    [
        [Section("s", small("a", "a"))],
        [Section("s", small("a")), Section("z", small("a"))],
        [Section("s"), Section("s")],
        [Section("contents")],
    ],
)
def test_names_used_twice_are_refused_before_anything_is_written(
    sections: list[Section], tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="used once"):
        write(tmp_path, "t", sections)
    assert files(tmp_path) == {}


@pytest.mark.parametrize("name", ["../a", "a/b", "A", "", ".a", "a b", 'a"'])
def test_names_that_are_no_file_names_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected lower-case letters"):
        write(tmp_path, "t", [Section("s", small(name))])


def test_a_row_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="does not fit"):
        write(tmp_path, "t", [Section("s", (Table("t", (Column("a"), Column("b")), ((1,),)),))])


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(WorkspaceError, match="expected a folder"):
        write(tmp_path / "out", "t", [])


def test_an_empty_report_and_an_empty_table_are_written(tmp_path: Path) -> None:
    write(tmp_path, "t", [])
    sample.write_small(tmp_path, Table("t", (Column("a"),), ()))
    assert (tmp_path / "tables/t.csv").read_text() == "a\n"
    Page((tmp_path / "report.html").read_text())
