"""A workspace of some days, and one that was refreshed."""

from pathlib import Path

import pytest

from days import Days, make
from wayword.refresh.refresh import Refreshed, refresh


@pytest.fixture(scope="session")
def days(tmp_path_factory: pytest.TempPathFactory) -> Days:
    return make(tmp_path_factory.mktemp("days"))


@pytest.fixture
def workspace(days: Days, tmp_path: Path) -> Path:
    return days.copy(tmp_path / "workspace")


@pytest.fixture(scope="session")
def refreshed(days: Days, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Refreshed]:
    folder = tmp_path_factory.mktemp("refreshed")
    workspace = days.copy(folder / "workspace")
    return workspace, refresh(workspace, *days.next_day(folder))
