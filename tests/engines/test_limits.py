"""Small files that expand to large ones are refused before they are read into memory."""

import gzip
import tracemalloc
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from wayword.engines import Engine, files, limits
from wayword.errors import LogError
from wayword.store.input_file import InputFile


@pytest.mark.parametrize("name", ["log.csv", "log.csv.gz", "log.tsv"])
@pytest.mark.parametrize("start", [b"", b'"'], ids=["plain", "in quotes"])
def test_a_header_without_end_is_refused_and_not_read(start: bytes, name: str, tmp_path: Path) -> None:
    header = start + b"query,document,rank\n" * (5 << 20) if start else b"query," * (10 << 20)
    (tmp_path / name).write_bytes(gzip.compress(header, 1) if name.endswith(".gz") else header)
    tracemalloc.start()
    try:
        with pytest.raises(
            LogError, match=r"The first line of .* has more than 1,048,576 bytes|field larger than"
        ):
            files.names_in_header(InputFile(tmp_path / name), ",")
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()


def test_a_header_that_ends_in_time_is_read(engine: Engine, tmp_path: Path) -> None:
    names = [f"größe_{n}" for n in range(1000)]
    (tmp_path / "log.csv").write_text("\ufeff" + ",".join(names) + "\n" + "x" * 100 + "," * 999 + "\n")
    engine.read("t", tmp_path / "log.csv")
    assert list(engine.columns("t")) == ["input_row", *names]


@pytest.mark.parametrize("name", ["log.csv.gz", "log.jsonl.gz"])
def test_a_gzip_file_that_expands_too_far_is_refused(
    name: str, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = b'{"query": "a", "document": "b", "rank": 1}\n' if "json" in name else b"query,document,rank\n"
    (tmp_path / name).write_bytes(gzip.compress(row * 100_000))
    engine.read("t", tmp_path / name)
    monkeypatch.setattr(limits, "FREE_BYTES", 1 << 20)
    with pytest.raises(
        LogError, match=r"bytes and expands to more than [0-9,]+ bytes; expected at most 100 times"
    ):
        engine.read("t", tmp_path / name)
    monkeypatch.setattr(limits, "EXPANSION", 1000)
    engine.read("t", tmp_path / name)


@pytest.mark.parametrize("end", [b"", b"\n", b",b,1\n", b",b,1\nx,y,2\n"])
def test_a_row_that_is_too_long_is_refused_and_not_dropped(
    end: bytes, engine: Engine, tmp_path: Path
) -> None:
    (tmp_path / "log.csv").write_bytes(b"query,document,rank\na,b,1\n" + bytes(b"a" * (40 << 20)) + end)
    with pytest.raises(LogError, match=r"log\.csv has a line of more than 2,000,000 bytes"):
        engine.read("t", tmp_path / "log.csv")


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_long_rows_of_many_chunks_are_read(end: bytes, engine: Engine, tmp_path: Path) -> None:
    row = b"a" * 700_000 + b",b,1" + end
    (tmp_path / "log.csv").write_bytes(b"query,document,rank" + end + row * 7)
    engine.read("t", tmp_path / "log.csv")
    assert engine.arrow("SELECT length(query) AS n FROM t")["n"].to_pylist() == [700_000] * 7


@pytest.mark.parametrize(
    ("limit", "value", "found"), [("FREE_ROWS", "a", "1,000,000 rows"), ("FREE_BYTES", "a" * 9000, "bytes")]
)
def test_a_parquet_file_that_expands_too_far_is_refused(
    limit: str, value: str, found: str, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = 1_000_000 if limit == "FREE_ROWS" else 1000
    column = pa.array([value]).take(pa.array([0] * rows))
    pq.write_table(
        pa.table({"query": column}), tmp_path / "log.parquet", compression="zstd", use_dictionary=rows > 1000
    )
    engine.read("t", tmp_path / "log.parquet")
    monkeypatch.setattr(limits, limit, 1000)
    with pytest.raises(LogError, match=f"log.parquet has .* bytes and expands to .*{found}"):
        engine.read("t", tmp_path / "log.parquet")
