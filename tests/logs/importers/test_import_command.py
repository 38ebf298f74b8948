"""`wayword import`: what it prints, what it refuses, and what a killed one leaves."""

import json
import os
import pty
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import duckdb
import pytest
from known_log import SAMPLES, clicks_in, draw, expected_clicks

from commands import Command, wayword

SEARCHES = draw()


def test_it_prints_how_the_file_was_understood_and_the_next_command(tmp_path: Path) -> None:
    (tmp_path / "shop.csv").write_bytes(
        SAMPLES["clicks"].content(SEARCHES) + b"\xc2\xa0;1;d1;r98;1;01.03.2026 10:00:00\n"
    )
    out = tmp_path / "log"
    done = wayword("import", tmp_path / "shop.csv", "--map", "search_id=request", "--out", out)
    assert done.code == 0, done.err
    text = done.out.decode()
    assert "Format: tables (recognised)" in text
    assert "--map query=search_term --map document=sku --map rank=position" in text.replace("\n", " ")
    assert "rows without a query" in text
    assert "latin-1" not in done.err or "é" in done.err
    assert f"Next: wayword run --log {out}/clicks.parquet --rankings RANKINGS" in done.err
    done = wayword("import", tmp_path / "shop.csv", "--map", "search_id=request", "--out", out, "--json")
    found = json.loads(done.out)
    assert found["format"] == "tables"
    assert found["dropped"] == {"rows without a query": 1}
    assert found["files"] == [str(out / "clicks.parquet")]


def test_a_refused_import_keeps_the_log_before_it(tmp_path: Path) -> None:
    (tmp_path / "shop.csv").write_bytes(SAMPLES["clicks"].content(SEARCHES))
    arguments = ("--map", "search_id=request", "--out", tmp_path / "log")
    assert wayword("import", tmp_path / "shop.csv", *arguments).code == 0
    (tmp_path / "bad.csv").write_text("query,document,rank\n" + "tv,a,first\n" * 10)
    done = wayword("import", tmp_path / "bad.csv", "--out", tmp_path / "log")
    assert done.code == 2
    assert f"{tmp_path / 'bad.csv'}:2: query tv, document a, rank first" in done.err
    assert "--unreadable 1" in done.err
    assert clicks_in(tmp_path / "log") == expected_clicks(SEARCHES)
    for wrong in (["--weight", "purchase"], ["--map", "query"], ["--format", "sap"]):
        done = wayword("import", tmp_path / "shop.csv", "--out", tmp_path / "log", *wrong)
        assert done.code == 2
        assert "expected" in done.err


@pytest.mark.parametrize("answer", ["y", "n"])
def test_on_a_terminal_it_asks_whether_guessed_columns_are_right(tmp_path: Path, answer: str) -> None:
    (tmp_path / "shop.csv").write_text("q,pos,sku\ntv,1,a\n")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "wayword", "import", "shop.csv", "--out", "log"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=theirs, stderr=theirs, stdout=subprocess.DEVNULL
    ) as process:
        os.close(theirs)
        os.write(ours, f"{answer}\n".encode())
        said = b""
        with suppress(OSError):  # the other end is closed
            while part := os.read(ours, 1 << 16):
                said += part
    os.close(ours)
    assert b"--map query=q --map document=sku --map rank=pos. Are these right?" in b" ".join(said.split())
    assert process.returncode == (0 if answer == "y" else 2)
    assert (tmp_path / "log" / "clicks.parquet").exists() == (answer == "y")


@pytest.mark.slow
def test_a_killed_import_leaves_nothing_half(tmp_path: Path) -> None:
    duckdb.sql(
        f"""COPY (SELECT 'query ' || range % 999 AS query, 'd' || range AS document, 1 + range % 9 AS rank,
                         's' || range AS search_id FROM range(3000000)) TO '{tmp_path / "log.csv"}'"""
    )
    out = tmp_path / "out"
    command = Command("import", tmp_path / "log.csv", "--out", out)
    command.wait_until(lambda: any(out.glob(".unfinished-*/*.parquet")))
    command.signal(signal.SIGKILL)
    assert command.finished().code == -signal.SIGKILL
    assert [path for path in out.iterdir() if not path.name.startswith(".unfinished-")] == []
    assert wayword("import", tmp_path / "log.csv", "--out", out).code == 0
    assert [path.name for path in out.iterdir() if path.suffix] == ["clicks.parquet"]
