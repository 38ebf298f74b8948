"""The command that estimates the utility of each policy."""

import json
import math
from typing import Annotated, Any

import typer

from wayword.cli import shell
from wayword.cli.options import Mode, WorkspacePath, stdout


def evaluate(
    workspace: WorkspacePath,
    as_json: Annotated[bool, typer.Option("--json", help="Print a list of estimates as JSON.")] = False,
    mode: Mode = "any",
    people: Annotated[
        bool, typer.Option("--people", help="Typing sessions only, for several kinds of people.")
    ] = False,
) -> None:
    """Print what people find and type with each policy, and its utility@1/5/10, on the test searches.

    Example: `wayword evaluate workspace --json`

    Only completions that continue what was typed: `wayword evaluate workspace --mode prefix`
    """
    from wayword.report.estimates import estimates_of, print_estimates
    from wayword.report.sessions import print_sessions, sessions_of
    from wayword.store.workspace import Workspace

    opened = Workspace.open(workspace)
    if as_json:
        rows = sessions_of(opened, mode=mode) if people else estimates_of(opened, None, mode=mode)
        shell.write(json.dumps([_without_nan(row) for row in rows], indent=1))
        return
    with opened.reading():
        (print_sessions if people else print_estimates)(opened, stdout(), mode=mode)


def _without_nan(row: dict[str, Any]) -> dict[str, Any]:
    """Replace NaN, which JSON lacks, with null: the value could not be estimated."""
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()
    }
