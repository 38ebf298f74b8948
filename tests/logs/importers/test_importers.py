"""Every importer: a known log comes back, also compressed, broken, in another encoding and with mixed types."""

import gzip
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from known_log import (
    SAMPLES,
    Sample,
    clicks_in,
    draw,
    expected_clicks,
    expected_impressions,
    impressions_in,
)

from wayword.config import LogConfig
from wayword.engines.duck import DuckDB
from wayword.errors import LogError
from wayword.logs.importers import sources
from wayword.logs.importers.formats import FORMATS
from wayword.logs.importers.read import ImportedLog, import_log
from wayword.logs.impressions import read
from wayword.logs.log import build
from wayword.store.input_file import InputFile

SEARCHES = draw()
every_format = pytest.mark.parametrize("name", SAMPLES)


def imported(folder: Path, sample: Sample, content: bytes, file: str = "log", **options: Any) -> ImportedLog:
    """Import one file, whose format must be recognised."""
    (folder / file).write_bytes(content)
    log = import_log(folder / file, out=folder / "out", mapping=dict(sample.mapping), **options)
    assert (log.format, log.recognised) == (sample.format, True)
    return log


def check(log: ImportedLog, sample: Sample) -> None:
    """The log is the known one, and nothing else stays in its folder."""
    assert clicks_in(log.folder) == expected_clicks(SEARCHES)
    engine = DuckDB()
    built = build(engine, log.folder / "clicks.parquet", LogConfig())  # as `run` does
    assert built.report["searches"] == len(SEARCHES)
    assert {path.name for path in log.folder.iterdir()} == {path.name for path in log.files}
    if sample.shows:
        read(engine, InputFile(log.folder / "impressions.parquet"))
        assert impressions_in(log.folder) == expected_impressions(SEARCHES)
        assert (log.folder / "rankings.parquet").exists()
    engine.close()


def with_line(sample: Sample, line: str, times: int = 1) -> tuple[bytes, int]:
    """The file with a line more, three lines after the first, and the number of that line."""
    lines = sample.content(SEARCHES).splitlines(keepends=True)
    return b"".join([*lines[:4], *[line.encode() + b"\n"] * times, *lines[4:]]), 5


def test_every_format_has_a_sample() -> None:
    assert {sample.format for sample in SAMPLES.values()} == {*FORMATS}


@every_format
def test_a_known_log_comes_back(name: str, tmp_path: Path) -> None:
    log = imported(tmp_path, SAMPLES[name], SAMPLES[name].content(SEARCHES))
    check(log, SAMPLES[name])
    assert not log.outcome.dropped


@every_format
def test_a_compressed_log_comes_back(name: str, tmp_path: Path) -> None:
    content = SAMPLES[name].content(SEARCHES)
    half = content.index(b"\n", len(content) // 2) + 1
    parts = gzip.compress(content[:half]) + gzip.compress(content[half:])
    check(imported(tmp_path, SAMPLES[name], parts, "log.gz"), SAMPLES[name])
    packed = pa.Codec("zstd").compress(content, asbytes=True)
    check(imported(tmp_path, SAMPLES[name], packed, "log.zst"), SAMPLES[name])


@every_format
def test_a_truncated_gzip_is_refused_with_its_line_or_read_up_to_there(name: str, tmp_path: Path) -> None:
    sample = SAMPLES[name]
    whole = gzip.compress(sample.content(SEARCHES), compresslevel=0)
    (tmp_path / "log.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(LogError, match=r"log\.gz:\d+: the compressed data is truncated .* --partial"):
        import_log(tmp_path / "log.gz", out=tmp_path / "out", mapping=dict(sample.mapping))
    assert not list((tmp_path / "out").iterdir())
    log = imported(tmp_path, sample, whole[: len(whole) // 2], "log.gz", partial=True)
    assert "is truncated" in log.outcome.notes[0]
    clicks = {row for row in clicks_in(log.folder) if row[2]}
    assert clicks
    assert clicks <= {*expected_clicks(SEARCHES)}


@every_format
def test_a_broken_line_is_left_out_and_named(name: str, tmp_path: Path) -> None:
    sample = SAMPLES[name]
    content, line = with_line(sample, sample.broken)
    log = imported(tmp_path, sample, content)
    check(log, sample)
    assert any(f"{tmp_path / 'log'}:{line}: " in note for note in log.outcome.notes)
    content, line = with_line(sample, sample.broken, times=9)
    with pytest.raises(LogError, match="expected") as refused:
        imported(tmp_path, sample, content)
    assert f"{tmp_path / 'log'}:{line}: " in str(refused.value)
    assert "--unreadable" in str(refused.value)
    check(imported(tmp_path, sample, content, unreadable=0.5), sample)


@every_format
def test_a_value_of_another_type_is_left_out_and_named(name: str, tmp_path: Path) -> None:
    sample = SAMPLES[name]
    content, line = with_line(sample, sample.mixed)
    log = imported(tmp_path, sample, content)
    check(log, sample)
    assert any(f"{tmp_path / 'log'}:{line}: " in note for note in log.outcome.notes)
    content, line = with_line(sample, sample.mixed, times=9)
    with pytest.raises(LogError, match="wrong type") as refused:
        imported(tmp_path, sample, content)
    assert f"{tmp_path / 'log'}:{line}: " in str(refused.value)
    assert "--unreadable" in str(refused.value)


@every_format
def test_another_encoding_is_found_and_said(name: str, tmp_path: Path) -> None:
    sample = SAMPLES[name]
    content = sample.content(SEARCHES).decode()
    log = imported(tmp_path, sample, content.encode("latin-1"))
    check(log, sample)
    assert "latin-1" in log.outcome.notes[0]
    log = imported(tmp_path, sample, content.replace("\n", "\r\n").encode("utf-16"))
    check(log, sample)
    assert "UTF-16" in log.outcome.notes[0]
    with pytest.raises(LogError, match=r"log: the bytes .* in line \d+ .* are not utf-8"):
        imported(tmp_path, sample, content.encode("latin-1"), encoding="utf-8")


@pytest.mark.parametrize("name", ["clicks", "shown", "ubi", "ga4", "metarank", "coveo", "algolia"])
def test_a_log_as_parquet_comes_back(name: str, tmp_path: Path) -> None:
    sample = SAMPLES[name]
    (tmp_path / "text").write_bytes(sample.content(SEARCHES))
    reader = "read_csv" if name == "clicks" else "read_json"
    made = tmp_path / "log.parquet"
    duckdb.sql(f"COPY (SELECT * FROM {reader}('{tmp_path / 'text'}')) TO '{made}'")
    mapping = {"query": "keyword"} if name == "shown" else dict(sample.mapping)
    if name == "shown":
        duckdb.sql(
            f"COPY (SELECT search.keyword, * EXCLUDE (search) FROM read_json('{tmp_path / 'text'}')) TO '{made}'"
        )
    log = import_log(made, out=tmp_path / "out", mapping=mapping)
    assert log.format == sample.format
    check(log, sample)
    made.write_bytes(made.read_bytes()[:-40])
    with pytest.raises(LogError, match=r"Cannot read .*log\.parquet"):
        import_log(made, out=tmp_path / "out", mapping=mapping)
    check(log, sample)


@pytest.mark.parametrize("name", ["shown", "ga4"])
def test_a_json_list_of_objects_is_read_as_lines(name: str, tmp_path: Path) -> None:
    sample = SAMPLES[name]
    lines = sample.lines(SEARCHES)
    check(imported(tmp_path, sample, ("[\n " + ",\n ".join(lines) + "\n]").encode()), sample)


def test_more_files_than_may_be_open_are_one_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MOST_OPEN", 2)
    sample = SAMPLES["clicks"]
    for number, search in enumerate(SEARCHES):
        (tmp_path / f"{number}.csv").write_bytes(sample.content([search]))
    log = import_log(tmp_path / "*.csv", out=tmp_path / "out", mapping=dict(sample.mapping))
    assert clicks_in(log.folder) == expected_clicks(SEARCHES)


def test_folders_and_patterns_are_one_log(tmp_path: Path) -> None:
    sample = SAMPLES["clicks"]
    for day, part in enumerate((SEARCHES[:20], SEARCHES[20:])):
        folder = tmp_path / "logs" / f"day{day}"
        folder.mkdir(parents=True)
        (folder / "clicks.csv.gz").write_bytes(gzip.compress(sample.content(part)))
        (folder / ".hidden.csv").write_text("no log")
    (tmp_path / "logs" / "empty.csv").write_bytes(b"")
    for given in (tmp_path / "logs", tmp_path / "logs" / "*" / "*.csv.gz"):
        log = import_log(given, out=tmp_path / "out", mapping=dict(sample.mapping))
        check(log, sample)
    with pytest.raises(LogError, match="nothing matches"):
        import_log(tmp_path / "nothing" / "*.csv", out=tmp_path / "out")
