"""A small simulated world, and a workspace made from it without disturbance, for all tests that need them."""

import hashlib
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

SETTINGS = """\
[log]
retriever_share = {share}
[retriever]
model = "popular"
candidates = 10
[features]
dimensions = 4
[ranker]
rounds = 10
depth = 3
max_contexts = 300
[evaluation]
bootstrap = 50
"""


@dataclass(frozen=True)
class Made:
    """A finished workspace, its inputs and how long it took."""

    path: Path
    arguments: list[object]
    files: dict[str, str]
    seconds: float

    def copy(self, path: Path) -> Path:
        """Another workspace, equal to this one."""
        return shutil.copytree(self.path, path, dirs_exist_ok=True)


def hashes(workspace: Path) -> dict[str, str]:
    """All that a workspace says: the manifest and every file of its artefacts."""
    files = [workspace / "manifest.json", *(workspace / "artefacts").rglob("*")]
    return {
        str(file.relative_to(workspace)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(files)
        if file.is_file()
    }


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """1,000 clicks in the world of packages: a run takes a second or two."""
    from wayword.simulation.simulate import simulate

    return simulate("packages", clicks=1000, depth=10, out=tmp_path_factory.mktemp("world"))


def _make(world: Path, folder: Path, share: float) -> Made:
    from commands import wayword

    settings = folder / "wayword.toml"
    settings.write_text(SETTINGS.format(share=share))
    arguments: list[object] = ["run", "--log", world / "clicks.parquet"]
    arguments += ["--rankings", world / "rankings.parquet", "--config", settings, "--out"]
    started = time.monotonic()
    finished = wayword(*arguments, folder / "workspace")
    assert finished.code == 0, finished.err
    seconds = time.monotonic() - started
    return Made(folder / "workspace", arguments, hashes(folder / "workspace"), seconds)


@pytest.fixture(scope="session")
def earlier(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """What an earlier run with another setting had made; not one artefact is the same."""
    return _make(world, tmp_path_factory.mktemp("earlier"), 0.5)


@pytest.fixture(scope="session")
def undisturbed(world: Path, earlier: Made, tmp_path_factory: pytest.TempPathFactory) -> Made:  # noqa: ARG001
    """What a run leaves that nothing disturbed; made second, when the libraries are loaded."""
    return _make(world, tmp_path_factory.mktemp("undisturbed"), 0.6)
