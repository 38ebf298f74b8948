"""A watched file: problems are told once, and forgotten when they have passed."""

from pathlib import Path

import pytest

from wayword.errors import WaywordError
from wayword.serving.watched_file import WatchedFile


def _load(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        raise WaywordError(f"Cannot read {file.name}.") from None


def test_a_file_that_comes_back_is_no_problem_any_more(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file, aside = tmp_path / "current", tmp_path / "aside"
    file.write_text("one")
    watched = WatchedFile(file, lambda _earlier: _load(file))
    file.rename(aside)
    assert not watched.look()
    assert (watched.value, watched.problems) == ("one", ["Cannot read current."])
    assert [record.getMessage() for record in caplog.records] == [
        "Cannot read current. The earlier version stays in use."
    ]
    aside.rename(file)
    watched.look()
    assert (watched.value, watched.problems) == ("one", [])
