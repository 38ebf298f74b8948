"""The units and the crontab are what systemd and cron understand, and allow no more than needed."""

import re
import stat
import subprocess
from pathlib import Path

import pytest
from recipes import DEPLOY, ROOT, replaced, run

UNITS = sorted([*DEPLOY.glob("*.service"), *DEPLOY.glob("*.timer")])
SERVICES = [unit for unit in UNITS if unit.suffix == ".service"]
SCRIPTS = sorted(DEPLOY.glob("*.sh"))


@pytest.fixture
def installed(tmp_path: Path) -> list[Path]:
    """The units, with programs where they name them."""
    for path in ("bin/wayword", *(f"deploy/{script.name}" for script in SCRIPTS)):
        file = tmp_path / "opt" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("#!/bin/sh\n", encoding="utf-8")
        file.chmod(0o755)
    for unit in UNITS:
        text = unit.read_text(encoding="utf-8").replace("/opt/wayword", str(tmp_path / "opt"))
        (tmp_path / unit.name).write_text(text, encoding="utf-8")
    return [tmp_path / unit.name for unit in UNITS]


@pytest.mark.slow
def test_systemd_understands_every_line_of_the_units(installed: list[Path]) -> None:
    done = run("systemd-analyze", "verify", "--man=no", *installed)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("NoNewPrivileges=yes", "NoNewPrivileges=perhaps", "Failed to parse"),
        ("ProtectSystem=strict", "ProtectSytem=strict", "Unknown key"),
        ("/bin/wayword serve", "/bin/nothing serve", "not executable"),
    ],
)
def test_systemd_says_what_is_wrong(old: str, new: str, said: str, installed: list[Path]) -> None:
    server = next(unit for unit in installed if unit.name == "wayword.service")
    server.write_text(replaced(server.read_text(encoding="utf-8"), {old: new}), encoding="utf-8")
    assert said in run("systemd-analyze", "verify", "--man=no", server).stderr


@pytest.mark.slow
@pytest.mark.parametrize("unit", SERVICES, ids=lambda unit: unit.name)
def test_the_exposure_is_at_most_what_the_page_says(unit: Path) -> None:
    page = (ROOT / "docs/deploy.md").read_text(encoding="utf-8")
    said = re.search(rf"^\| `{unit.name}` \|.* ([\d.]+) \|$", page, flags=re.MULTILINE)
    assert said
    done = run("systemd-analyze", "security", "--offline=yes", "--no-pager", unit)
    level = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
    assert level, done.stderr
    assert float(level[1]) <= float(said[1])


@pytest.mark.slow
def test_cron_understands_the_crontab(tmp_path: Path) -> None:
    assert run("crontab", "-n", DEPLOY / "crontab").returncode == 0
    (tmp_path / "crontab").write_text(
        replaced((DEPLOY / "crontab").read_text(encoding="utf-8"), {"17 3 *": "77 3 *"}), encoding="utf-8"
    )
    wrong = run("crontab", "-n", tmp_path / "crontab")
    assert wrong.returncode == 1
    assert "bad minute" in wrong.stderr


def test_units_and_crontab_run_the_same_scripts_with_the_same_folders() -> None:
    command = re.compile(r"/opt/wayword/deploy/(\S+\.sh .*)")
    units = {found for unit in SERVICES for found in command.findall(unit.read_text(encoding="utf-8"))}
    assert units == set(command.findall((DEPLOY / "crontab").read_text(encoding="utf-8")))
    assert {one.split()[0] for one in units} == {script.name for script in SCRIPTS}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_scripts_may_be_run_and_say_how(script: Path) -> None:
    assert script.stat().st_mode & stat.S_IXUSR
    done = subprocess.run([script], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "usage: " + script.name in done.stderr
