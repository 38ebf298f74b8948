"""A small run, whose every file can be compared with that of another."""

import hashlib
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from commands import wayword

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
compare = ["popular", "expected", "random", "retriever", "unbiased"]
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


def make(world: Path, folder: Path, share: float) -> Made:
    """Run the command on a world with a share for the retriever."""
    settings = folder / "wayword.toml"
    settings.write_text(SETTINGS.format(share=share))
    arguments: list[object] = ["run", "--log", world / "clicks.parquet"]
    arguments += ["--rankings", world / "rankings.parquet", "--config", settings, "--out"]
    started = time.monotonic()
    finished = wayword(*arguments, folder / "workspace")
    assert finished.code == 0, finished.err
    seconds = time.monotonic() - started
    return Made(folder / "workspace", arguments, hashes(folder / "workspace"), seconds)
