"""The recipes of the folder `deploy`, and the programs that read them."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
NAME = "complete.shop.example"
"""The server's name in the recipes."""
PACKAGES = {
    "crontab": "cron",
    "nginx": "nginx",
    "openssl": "openssl",
    "promtool": "prometheus",
    "rsync": "rsync",
    "systemd-analyze": "systemd",
}
"""Program → Debian's package."""


def program(name: str) -> str:
    """The path of a program; without it the test is skipped, or fails where it is needed."""
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/usr/bin")
    if found is None:
        missing = pytest.fail if "WAYWORD_NEEDS_DEPLOYMENT" in os.environ else pytest.skip
        missing(f"{name} is not installed (.ci/run installs it: apt-get install {PACKAGES[name]})")
    return found


def run(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    return subprocess.run(
        [program(name), *map(str, arguments)], capture_output=True, text=True, check=False, timeout=300
    )


def serve_options() -> list[str]:
    """The options of `wayword serve` in the unit, without the workspace."""
    text = (DEPLOY / "wayword.service").read_text(encoding="utf-8").replace("\\\n", " ")
    (command,) = (line for line in text.splitlines() if line.startswith("ExecStart="))
    return shlex.split(command)[3:]


def replaced(text: str, changes: dict[str, str]) -> str:
    """The text with other paths and ports; each that is to be replaced is there."""
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    return text
