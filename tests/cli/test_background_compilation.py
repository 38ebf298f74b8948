"""The second process of the demo compiles what the demo calls."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from wayword.cli.background_compilation import compiling, write_log


def in_process(cache: Path, *arguments: str) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    subprocess.run([sys.executable, "-m", *arguments], env=environment, check=True, capture_output=True)


def functions(cache: Path) -> set[str]:
    return {file.name for file in cache.rglob("*.nbc")}


@pytest.mark.slow
def test_the_demo_finds_every_function_compiled(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    in_process(cache, "wayword.cli.background_compilation", str(tmp_path))
    compiled = functions(cache)
    in_process(cache, "wayword", "demo", "--out", str(tmp_path / "demo"), "--clicks", "500")
    assert compiled
    assert functions(cache) == compiled


def test_the_process_ends_with_the_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: Any, **options: Any) -> "subprocess.Popen[bytes]":
        started.append(popen(*arguments, **options))
        return started[-1]

    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", start)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    with compiling():
        assert started[0].poll() is None
    assert started[0].returncode is not None


def test_every_click_of_the_log_is_on_a_document_of_the_table(tmp_path: Path) -> None:
    log, documents = (path.read_text().splitlines() for path in write_log(tmp_path))
    assert {line.split(",")[2] for line in log[1:]} == {line.split(",")[0] for line in documents[1:]}
