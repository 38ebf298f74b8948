"""A command that looks up a known text imports only what a finished list needs."""

import subprocess
import sys

import pytest

from runs import Made

HEAVY = ("numba", "scipy", "xgboost", "duckdb", "pyarrow", "sklearn", "pecos", "tantivy", "granian")
COMMAND = """
import sys
from wayword.cli.main import app
app(standalone_mode=False)
print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""


def imported(*arguments: object) -> set[str]:
    """The packages that a command has imported when it ends."""
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    assert done.stdout
    return set(done.stderr.split())


def test_a_known_text_needs_no_compiler_and_no_tables(undisturbed: Made) -> None:
    packages = imported("complete", undisturbed.path, "vid")
    assert packages.isdisjoint(HEAVY)
    assert {"numpy", "msgspec"} <= packages


def test_an_unknown_text_is_computed(undisturbed: Made) -> None:
    assert "numba" in imported("complete", undisturbed.path, "vidoe pla")


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_import_no_arrays(option: str) -> None:
    assert imported(option).isdisjoint((*HEAVY, "numpy"))
