"""The command that learns which suggestions people take."""

import json
from pathlib import Path
from typing import Annotated

import typer

from wayword.cli import shell
from wayword.cli.options import WorkspacePath, stderr, stdout


def acceptance(
    workspace: WorkspacePath,
    completions: Annotated[
        Path,
        typer.Argument(
            metavar="COMPLETIONS", help="Lists shown and taken: completions.parquet of `wayword ubi`."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Write the model here (JSON). [default: it is only printed]")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="A column whose values differ in readiness, such as device."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Learn which suggestions people accept and which positions they read, from lists shown and taken.

    Example: `wayword acceptance workspace log/completions.parquet --out acceptance.json`

    Phones and desktops apart: `wayword acceptance workspace log/completions.parquet --by device`

    docs/acceptance.md has the model, its prior and its limits.
    """
    from wayword.completion.acceptance_workspace import learn_from
    from wayword.progress import Bars
    from wayword.report.acceptance import print_acceptance
    from wayword.store.workspace import Workspace

    opened = Workspace.open(workspace)
    with Bars(stderr()).shown() as bars, bars.stage("acceptance"), opened.reading():
        learned = learn_from(opened, completions, by=by, progress=bars)
    if as_json:
        model = learned.model
        shell.write(json.dumps({**model.as_object(), **learned.details()}, indent=1))
    else:
        print_acceptance(learned, stdout())
    if out is not None:
        learned.model.save(out, learned.details())
        kept = "The model" if learned.enough else "The prior"
        typer.echo(f"{kept} is in {out}.", err=True)
