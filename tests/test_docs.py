"""What is written is executed: the README's Python, the commands it names, links, versions."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import wayword

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMMANDS = ("simulate", "run", "evaluate", "complete", "reproduce", "demo", "config")


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of a page in a language."""
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_the_readmes_python_runs_in_under_ten_lines(tmp_path: Path) -> None:
    (code,) = blocks(ROOT / "README.md", "python")
    assert len([line for line in code.splitlines() if line.strip()]) < 10
    script = tmp_path / "example.py"
    script.write_text(code, encoding="utf-8")
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "logged 1 1.0" in lines
    assert any(re.fullmatch(r"unbiased 5 \d\.\d+", line) for line in lines)
    assert len(lines) == 14 + 5  # logged and oracle at 1, four policies at 1, 5 and 10; five completions


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example_and_a_place_in_the_docs(command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "wayword", command, "--help"], capture_output=True, text=True, check=True
    )
    assert f"wayword {command}" in done.stdout
    assert any(f"wayword {command}" in page.read_text(encoding="utf-8") for page in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not missing


def test_the_page_of_settings_is_what_the_source_says() -> None:
    spec = importlib.util.spec_from_file_location(
        "write_configuration", ROOT / "scripts/write_configuration.py"
    )
    assert spec
    assert spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.PAGE.read_text(encoding="utf-8") == script.page(), "run scripts/write_configuration.py"


def test_version_and_changelog_agree() -> None:
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert newest
    assert newest.group(1) == wayword.__version__


def test_the_door_is_small() -> None:
    assert len(wayword.__all__) <= 10
    assert all(getattr(wayword, name) is not None for name in wayword.__all__)


def test_no_file_names_a_registry() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in lock
    assert re.search(r"^libpecos==", lock, flags=re.MULTILINE)
