"""Faults of a file's form: found with their lines, and what can be read is read."""

import gzip
import json
from pathlib import Path

import pytest
from faultless import SEARCHES, check, faults, log, named, write
from hypothesis import given
from hypothesis import strategies as st

from wayword.check.form import scan
from wayword.errors import LogError
from wayword.store.input_file import InputFile


@pytest.mark.parametrize(
    ("name", "delimiter", "words"),
    [
        ("log.csv", ";", "separated by semicolons"),
        ("log.csv", "|", "separated by vertical bars"),
        ("log.csv", "\t", "separated by tabs"),
        ("log.tsv", ",", "separated by commas"),
    ],
)
def test_another_separator_is_named_and_used(name: str, delimiter: str, words: str, tmp_path: Path) -> None:
    found = check(write(tmp_path / name, log(), delimiter=delimiter))
    assert faults(found) == {"separator": ("FAIL", 1)}
    assert words in named(found, "separator").found
    assert named(found, "columns").count == SEARCHES


@pytest.mark.parametrize(("end", "other"), [("\n", "\r\n"), ("\r\n", "\n"), ("\n", "\r")])
def test_mixed_line_ends_have_the_line(end: str, other: str, tmp_path: Path) -> None:
    lines = write(tmp_path / "log.csv", log()).read_text().splitlines()
    path = tmp_path / "mixed.csv"
    path.write_bytes((end.join(lines[:50]) + other + end.join(lines[50:]) + end).encode())
    found = check(path)
    assert faults(found) == {"line_ends": ("FAIL", 1)}
    assert "line 50 is the first that ends otherwise" in named(found, "line_ends").found
    assert named(found, "columns").count == SEARCHES


def test_line_breaks_inside_quotes_are_no_line_ends(tmp_path: Path) -> None:
    rows = [row | {"query": f"query\n{i % 20}"} for i, row in enumerate(log())]
    assert faults(check(write(tmp_path / "log.csv", rows, end="\r\n"))) == {}


@pytest.mark.parametrize(("encoding", "line"), [("latin-1", 8), ("utf-16", 1)])
def test_another_encoding_is_named_and_used(encoding: str, line: int, tmp_path: Path) -> None:
    rows = [row | {"query": "café"} if i == 6 else row for i, row in enumerate(log())]
    found = check(write(tmp_path / "log.csv", rows, encoding=encoding))
    assert faults(found) == {"encoding": ("FAIL", 1)}
    assert f"line {line} is not. It looks like {encoding}." in named(found, "encoding").found
    assert named(found, "columns").count == SEARCHES


def test_lines_with_other_columns_are_shown_and_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv", log())
    path.write_text(
        path.read_text()
        + "too,few\n"
        + ",".join(["too", "many", "columns", "for", "this", "file"] * 2)
        + "\n"
    )
    found = check(path)
    assert faults(found) == {"broken_rows": ("FAIL", 2)}
    assert [one.split(": ")[0] for one in named(found, "broken_rows").examples] == ["line 602", "line 603"]
    assert named(found, "columns").count == SEARCHES


def test_broken_json_lines_are_shown_and_left_out(tmp_path: Path) -> None:
    lines = [json.dumps(row) for row in log()]
    lines[3:3] = ['{"query": "cut', "[1, 2]"]
    (tmp_path / "log.jsonl").write_text("\n".join(lines) + "\n")
    found = check(tmp_path / "log.jsonl")
    assert faults(found) == {"broken_rows": ("FAIL", 2)}
    assert [one.split(": ")[0] for one in named(found, "broken_rows").examples] == ["line 4", "line 5"]
    assert named(found, "columns").count == SEARCHES


def test_json_lines_of_no_object_are_refused_with_the_name_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text("[1]\n")
    found = named(check(tmp_path / "log.jsonl"), "file")
    assert (
        found.found
        == f"{tmp_path}/log.jsonl has no line with a JSON object; expected one JSON object per line."
    )


def test_missing_columns_are_one_failure(tmp_path: Path) -> None:
    rows = [{"search_term": row["query"], "sku": row["document"], "position": row["rank"]} for row in log()]
    found = check(write(tmp_path / "log.csv", rows))
    assert faults(found) == {"columns": ("FAIL", 0)}
    assert "lacks the columns query, document, rank" in named(found, "columns").found


@pytest.mark.parametrize("header", [",query,document,rank", "query,Query,document,rank"])
def test_names_that_cannot_be_used_are_one_failure(header: str, tmp_path: Path) -> None:
    rows = "".join(f"{i},{row['query']},{row['document']},{row['rank']}\n" for i, row in enumerate(log()))
    (tmp_path / "log.csv").write_text(f"{header}\n{rows}")
    found = check(tmp_path / "log.csv")
    assert faults(found)["file"] == ("FAIL", 0)
    assert named(found, "columns").count == SEARCHES


def test_a_truncated_or_an_empty_file_is_one_failure(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").touch()
    (tmp_path / "header.csv").write_text("query,document,rank\n")
    packed = gzip.compress(write(tmp_path / "log.csv", log()).read_bytes())
    (tmp_path / "cut.csv.gz").write_bytes(packed[:-20])
    for name, words in (("empty.csv", "0 bytes"), ("header.csv", "no row"), ("cut.csv.gz", "ended before")):
        found = check(tmp_path / name)
        assert faults(found) == {"file": ("FAIL", 0)}
        assert words in named(found, "file").found


def test_a_compressed_file_is_checked_as_the_plain_one(tmp_path: Path) -> None:
    (tmp_path / "log.csv.gz").write_bytes(gzip.compress(write(tmp_path / "log.csv", log()).read_bytes()))
    assert faults(check(tmp_path / "log.csv.gz")) == {}


def test_another_kind_of_file_is_no_argument(tmp_path: Path) -> None:
    (tmp_path / "log.xlsx").write_bytes(b"PK")
    with pytest.raises(LogError, match="expected a file ending in"):
        check(tmp_path / "log.xlsx")


def slowly(text: bytes) -> tuple[int, int, int | None]:
    """Lines, line breaks in quotes, and the first line with another end: byte by byte."""
    ends: list[bytes] = []
    quoted = line = 0
    mixed, inside, place, first = None, False, 0, b""
    while place < len(text):
        end = b"\r\n" if text[place : place + 2] == b"\r\n" else text[place : place + 1]
        if end in (b"\n", b"\r", b"\r\n"):
            line += 1
            first = first or end
            if inside:
                quoted += 1
            else:
                ends.append(end)
                mixed = line if mixed is None and end != first else mixed
        inside ^= end == b'"'
        place += len(end)
    return len(ends) + (not text.endswith((b"\n", b"\r")) and bool(text)), quoted, mixed


@given(text=st.text(alphabet='a,"\n\r', max_size=60).map(str.encode), piece=st.integers(1, 7))
def test_lines_are_counted_as_byte_by_byte(
    text: bytes, piece: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("scan") / "log.csv"
    path.write_bytes(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wayword.check.form.READ_SIZE", piece)
        form = scan(InputFile(path), quotes=True)
    assert (form.lines, form.quoted_ends, form.mixed) == slowly(text)
