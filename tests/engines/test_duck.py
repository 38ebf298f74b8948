import csv
import gzip
import hashlib
import io
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wayword.engines import Engine, uniform
from wayword.errors import LogError, WaywordError

ROWS: list[dict[str, Any]] = [
    {"query": "tv, stand", "document": "007", 'my "col"': "a\nb"},
    {"query": '5" nail', "document": "it's", 'my "col"': None},
    {"query": "#tag", "document": "ü 😀", 'my "col"': "x\ty"},
]


def as_csv(rows: list[dict[str, Any]], delimiter: str = ",") -> bytes:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def as_json(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def as_parquet(rows: list[dict[str, Any]]) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), file)
    return file.getvalue()


FORMATS: dict[str, Callable[[list[dict[str, Any]]], bytes]] = {
    "log.parquet": as_parquet,
    "log.csv": as_csv,
    "LOG.CSV": as_csv,
    "log.csv.gz": lambda rows: gzip.compress(as_csv(rows)),
    "log.tsv": lambda rows: as_csv(rows, "\t"),
    "log.tsv.gz": lambda rows: gzip.compress(as_csv(rows, "\t")),
    "log.jsonl": as_json,
    "log.ndjson": as_json,
    "log.jsonl.gz": lambda rows: gzip.compress(as_json(rows)),
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_table(engine: Engine, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(FORMATS[name](ROWS))
    engine.read("t", tmp_path / name)
    expected = [{"input_row": number, **row} for number, row in enumerate(ROWS)]
    assert engine.arrow("SELECT * FROM t ORDER BY input_row").to_pylist() == expected


@pytest.mark.parametrize("name", ["a*b?[1].csv", "year=2024/log.csv", "it's \"$:x.csv", "naïve 列.csv"])
def test_a_file_name_means_nothing(engine: Engine, tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(as_csv(ROWS))
    engine.read("t", tmp_path / name)
    assert list(engine.columns("t")) == ["input_row", *ROWS[0]]


def test_json_types_are_not_guessed(engine: Engine, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"d": "007"},
        {"d": 7},
        {"d": "2024-01-01T00:00:00Z"},
        {"d": None},
        {"other": True},
    ]
    (tmp_path / "x.jsonl").write_bytes(as_json(rows))
    engine.read("t", tmp_path / "x.jsonl")
    assert engine.arrow("SELECT d FROM t ORDER BY input_row")["d"].to_pylist() == [
        "007", "7", "2024-01-01T00:00:00Z", None, None,
    ]  # fmt: skip
    assert list(engine.columns("t")) == ["input_row", "d", "other"]


def test_a_quoted_empty_field_of_a_csv_file_is_empty_and_another_is_null(
    engine: Engine, tmp_path: Path
) -> None:
    (tmp_path / "x.csv").write_bytes(b'\xef\xbb\xbfa,b\r\n"",\r\n')
    engine.read("t", tmp_path / "x.csv")
    assert engine.arrow("SELECT a, b FROM t").to_pylist() == [{"a": "", "b": None}]


BROKEN = {
    "zero.csv": (b"", "0 bytes"),
    "blank.csv": (b"\n", "no columns"),
    "latin.csv": ("query\ncafé\n".encode("latin-1"), "UTF-8|utf-8"),
    "ragged.csv": (b"a,b\n1\n", "Expected Number of Columns: 2 Found: 1"),
    "open.csv": (b'a,b\n"1,2\n', "unterminated quote"),
    "nameless.csv": (b",a\n0,1\n", "column 1 of 2 has no name"),
    "twice.csv": (b"a,A\n0,1\n", "two columns of one name: 'a' and 'A'"),
    "ours.csv": (b"input_row\n0\n", "uses that name itself"),
    "zero.csv.gz": (gzip.compress(b""), "no columns"),
    "not.csv.gz": (b"a\n1\n", "[Nn]ot a gzip"),
    "cut.csv.gz": (gzip.compress(b"a\n" + b"1\n" * 9999)[:-9], "ended before the end-of-stream marker"),
    "long.csv": (b"a\n" + b"x" * 3_000_000 + b"\n", "has a line of more than 2,000,000 bytes"),
    "broken.jsonl": (b'{"a": 1}\n{oops\n', "Malformed JSON"),
    "array.jsonl": (b"[1]\n", "one JSON object per line"),
    "blank.jsonl": (b"\n", "no columns"),
    "surrogate.jsonl": (b'{"a": "\\ud800"}\n', "surrogate"),
    "deep.jsonl": (b'{"a": ' + b"[" * 9999 + b"]" * 9999 + b"}\n", "Cannot read"),
    "twice.jsonl": (b'{"a": 1}\n{"A": 1}\n', "two columns of one name"),
    "junk.parquet": (b"PAR1xxxxPAR1", "Cannot read"),
    "binary.parquet": (as_parquet([{"a": b"\xff"}]), "not valid UTF8"),
    "none.parquet": (as_parquet([{}]), "no columns"),
    "log.txt": (b"a\n", r"Found log.txt; expected a file ending in .parquet, .csv"),
    "log.parquet.gz": (b"a", "expected a file ending in"),
    "log": (b"a\n", "expected a file ending in"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused_by_name_and_briefly(engine: Engine, tmp_path: Path, name: str) -> None:
    content, message = BROKEN[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(LogError, match=message) as refused:
        engine.read("t", tmp_path / name)
    assert name in str(refused.value)
    assert len(str(refused.value)) < 2000


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60), st.sampled_from(list(FORMATS)))
def test_no_bytes_whatever_raise_anything_but_our_error(
    engine: Engine, tmp_path: Path, content: bytes, name: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with suppress(LogError):
        engine.read("t", tmp_path / name)


def test_a_folder_and_a_missing_file_are_refused(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(LogError, match="is a folder"):
        engine.read("t", tmp_path)
    with pytest.raises(LogError, match="There is no file"):
        engine.read("t", tmp_path / "x.csv")


def test_parameters_are_bound_and_quoted_names_left_alone(engine: Engine) -> None:
    engine.load("t", pa.table({"a:b": ["x", "y"], 'c":d': ["it's", ":first"]}))
    one, two = engine.quote("a:b"), engine.quote('c":d')
    sql = f"SELECT {one} AS one, {two} AS two, ':first' AS three FROM t WHERE {one} = :first"
    found = engine.arrow(sql, first="y")
    assert found.to_pylist() == [{"one": "y", "two": ":first", "three": ":first"}]


def test_a_failed_step_shows_its_name_and_sql(engine: Engine) -> None:
    with pytest.raises(WaywordError, match=r"The step 'counted' failed(.|\n)*SELECT nothing FROM nowhere"):
        engine.step("counted", "SELECT nothing FROM nowhere")


def test_a_moment_does_not_depend_on_how_its_offset_is_written(engine: Engine) -> None:
    times = [
        "2024-01-01T10:00:00+02:00",
        "2024-01-01 08:00:00",
        "2024-01-01T08:00Z",
        "soon",
        "infinity",
        None,
    ]
    engine.load("t", pa.table({"time": pa.array(times, pa.string())}))
    moments = engine.arrow(f"SELECT {engine.instant('time')} AS m FROM t")["m"].to_pylist()
    assert moments[0] == moments[1] == moments[2]
    assert moments[3:] == [None] * 3


def test_uniform_is_the_first_24_bits_of_md5(engine: Engine) -> None:
    keys = ["", "a", "ü 😀", *map(str, range(100))]
    engine.load("t", pa.table({"key": keys}))
    found = engine.arrow(f"SELECT key, {uniform('key')} AS u FROM t").to_pylist()
    for row in found:
        assert row["u"] == int(hashlib.md5(row["key"].encode()).hexdigest()[:6], 16) / 2**24  # noqa: S324
