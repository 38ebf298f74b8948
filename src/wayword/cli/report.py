"""The command that writes the report about a log."""

from pathlib import Path
from typing import Annotated

import typer

from wayword.cli.options import WorkspacePath, stderr


def report(
    workspace: WorkspacePath,
    out: Annotated[Path, typer.Option(help="The file to write, a page of HTML.")] = Path("report.html"),
    ubi: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What `wayword ubi --json` printed: adds its A/B test."),
    ] = None,
) -> None:
    """Write a report about your log, to open in a browser: is it better, how sure, where it helps, what to check.

    Example: `wayword report workspace --out report.html`

    With the A/B test of served lists: `wayword ubi events --out log --json > ubi.json`, then
    `wayword report workspace --ubi ubi.json --out report.html`

    What is served now is reported: if the index, its overrides or block lists have changed, it is evaluated again.
    The page needs nothing else: it can be mailed and printed. docs/report.md says what is in it.
    """
    from wayword.pipeline import evaluate
    from wayword.progress import Bars
    from wayword.report.log_report import write
    from wayword.store.workspace import Workspace

    opened = Workspace.open(workspace)
    with Bars(stderr()).shown() as bars:
        opened = evaluate(opened, bars)
    write(opened, out, ubi=ubi)
    typer.echo(f"The report is {out}.", err=True)
