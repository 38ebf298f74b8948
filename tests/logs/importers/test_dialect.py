"""Dialects of CSV: whatever separator, line end, quoting and encoding, the same rows come back."""

import csv
import io
import tempfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wayword.logs.importers import dialect, encoding
from wayword.logs.importers.read import import_log

TEXT = st.text(
    st.characters(codec="latin-1", categories=("L", "N", "P", "S", "Zs"), exclude_characters="\\\u00ad"),
    min_size=1,
).filter(lambda text: text.strip(" \u00a0") and text.strip() not in ("NULL", r"\N"))
ROWS = st.lists(st.tuples(TEXT, st.text("abc0123", min_size=1), st.integers(1, 99)), min_size=1, max_size=8)


@given(
    rows=ROWS,
    separator=st.sampled_from(dialect.SEPARATORS),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    coded=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_rows_come_back_from_every_dialect(
    rows: list[tuple[str, str, int]], separator: str, end: str, coded: str, quoting: int
) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=separator, lineterminator=end, quoting=quoting)  # type: ignore[arg-type]
    writer.writerow(["query", "document", "rank"])
    writer.writerows(rows)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "log.csv"
        file.write_bytes(text.getvalue().encode(coded))
        log = import_log(file, out=Path(folder) / "out")
        found = pq.read_table(log.folder / "clicks.parquet").to_pylist()
    assert not log.outcome.dropped
    blank = " \u00a0"
    assert [(r["query"].strip(blank), r["document"], r["rank"]) for r in found] == [
        (query.strip(blank), document, rank) for query, document, rank in rows
    ]


@pytest.mark.parametrize("separator", dialect.SEPARATORS)
def test_a_separator_is_found_among_others_in_texts(tmp_path: Path, separator: str) -> None:
    lines = [separator.join(["query", "rank"]), separator.join(['"a, b; c | d"', "1"])]
    (tmp_path / "log").write_text("\n".join(lines * 3))
    found = dialect.find(tmp_path / "log", shown=tmp_path / "log")
    assert (found.separator, found.names) == (separator, ("query", "rank"))


def test_the_separator_that_a_spreadsheet_names_is_taken(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("sep=;\nquery;document;rank\ntv;a;1\n")
    log = import_log(tmp_path / "log", out=tmp_path / "out")
    assert pq.read_table(log.folder / "clicks.parquet").to_pylist() == [
        {"query": "tv", "document": "a", "rank": 1}
    ]


def test_lines_that_a_quote_hides_are_broken_lines(tmp_path: Path) -> None:
    """A quote that is never closed makes one row of all lines after it."""
    text = "query,document,rank\n" + "tv,a,1\n" * 50 + '"tv,a,1\n' + "tv,a,1\n" * 949
    (tmp_path / "log").write_text(text)
    with pytest.raises(Exception, match=r"(?s)950 broken lines among 1,000; expected .*log:52: '\"tv,a,1"):
        import_log(tmp_path / "log", out=tmp_path / "out")


def test_lines_that_end_in_different_ways_are_all_lines(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"query,document,rank\r\ntv,a,1\nradio,b,2\rlamp,c,3\r\n")
    log = import_log(tmp_path / "log", out=tmp_path / "out")
    assert pq.read_table(log.folder / "clicks.parquet")["query"].to_pylist() == ["tv", "radio", "lamp"]
    assert "different ways" in log.outcome.notes[0]


def test_a_broken_line_of_utf_8_does_not_make_the_file_latin_1(tmp_path: Path) -> None:
    lines = ["query,document,rank", *["café,a,1"] * 200]
    content = "\n".join(lines).encode() + "\ncafé,b,1\n".encode("latin-1")
    (tmp_path / "log").write_bytes(content)
    log = import_log(tmp_path / "log", out=tmp_path / "out")
    assert log.outcome.dropped == {"broken lines": 1}
    assert f"{tmp_path / 'log'}:202: " in log.outcome.notes[0]
    assert {*pq.read_table(log.folder / "clicks.parquet")["query"].to_pylist()} == {"café"}


def test_a_character_that_two_blocks_share_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "BLOCK", 7)
    (tmp_path / "log").write_text("query,document,rank\n" + "é€é,a,1\n" * 9)
    assert encoding.look(tmp_path / "log", shown=tmp_path / "log").encoding == "utf-8"
    for coded in ("utf-16", "latin-1"):
        (tmp_path / "wide").write_bytes(("query\r\n" + "éà\r\n" * 9).encode(coded))
        found = encoding.look(tmp_path / "wide", shown=tmp_path / "wide")
        encoding.write_utf8(tmp_path / "wide", found, tmp_path / "made", shown=tmp_path / "wide")
        assert (tmp_path / "made").read_bytes().decode() == "query\n" + "éà\n" * 9
