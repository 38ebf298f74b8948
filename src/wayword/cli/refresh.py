"""The command that adds new searches to a workspace, and promotes what it learns if that is not worse: refresh."""

import json
import shlex
from pathlib import Path
from typing import Annotated, Literal

import typer

from wayword.cli import shell
from wayword.cli.options import WorkspacePath, stderr
from wayword.errors import WaywordError


def refresh(
    workspace: WorkspacePath,
    log: Annotated[list[Path] | None, typer.Option(help="A click log with new searches; repeatable.")] = None,
    rankings: Annotated[
        list[Path] | None,
        typer.Option(help="Rankings of new queries, or newer ones of known queries; repeatable."),
    ] = None,
    completions: Annotated[
        Path | None,
        typer.Option(help="Lists shown in these searches, if the workspace was made with lists shown."),
    ] = None,
    promote: Annotated[
        Literal["always", "never", "if-better"],
        typer.Option(help="When the next version becomes the current one; if-better: unless it is worse."),
    ] = "if-better",
    rollback: Annotated[
        bool, typer.Option("--rollback", help="Serve the version that was served before; learn nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the decision as JSON.")] = False,
) -> None:
    """Add new searches, learn again what they touch, and serve the next version unless it is worse.

    Example: `wayword refresh workspace --log today.parquet --rankings new-queries.parquet`

    Build and compare only: `wayword refresh workspace --log today.parquet --promote never`

    Back to the version before: `wayword refresh workspace --rollback`

    The newest searches are held out of both versions, which are compared on them. docs/refresh.md says more.
    """
    if rollback:
        if log or rankings or completions:
            raise WaywordError("Found --rollback with files; it learns nothing. Give one or the other.")
        _roll_back(workspace, as_json=as_json)
        return
    if not log:
        raise WaywordError("Found no --log; expected at least one log with new searches, or --rollback.")
    shell.collect_seldom()
    from wayword.progress import Bars
    from wayword.refresh.refresh import refresh as refresh_workspace

    with Bars(stderr()).shown() as bars:
        done = refresh_workspace(
            workspace, log, rankings or (), completions=completions, promote=promote, reporter=bars
        )
    if as_json:
        shell.write(json.dumps(done.as_object(), indent=1))
        return
    for line in done.lines:
        typer.echo(line)
    if done.decision.promoted:
        typer.echo(
            f"Back to the version before: wayword refresh {shlex.quote(str(workspace))} --rollback", err=True
        )


def _roll_back(workspace: Path, *, as_json: bool) -> None:
    from wayword.refresh.refresh import roll_back

    current, former = roll_back(workspace)
    if as_json:
        shell.write(json.dumps({"current": current, "former": former}, indent=1))
        return
    typer.echo(f"The current version is {current}, which was served before {former}.")
