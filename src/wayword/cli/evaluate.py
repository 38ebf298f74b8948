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
    dial: Annotated[
        bool, typer.Option("--dial", help="Estimates for weights between utility and acceptance.")
    ] = False,
) -> None:
    """Print utility@1/5/10 of each policy on the test searches, with intervals.

    Example: `wayword evaluate workspace --json`

    Only completions that continue what was typed: `wayword evaluate workspace --mode prefix`
    """
    from wayword.report.estimates import dial_of, estimates_of, print_dial, print_estimates
    from wayword.store.workspace import Workspace

    opened = Workspace.open(workspace)
    if as_json:
        rows = dial_of(opened) if dial else estimates_of(opened, None, mode=mode)
        shell.write(json.dumps([_without_nan(row) for row in rows], indent=1))
    elif dial:
        with opened.reading():
            print_dial(opened, stdout())
    else:
        with opened.reading():
            print_estimates(opened, stdout(), mode=mode)


def _without_nan(row: dict[str, Any]) -> dict[str, Any]:
    """Replace NaN, which JSON lacks, with null: the value could not be estimated."""
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()
    }
