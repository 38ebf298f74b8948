"""The command that says whether what is served is better, and estimates the utility of each policy."""

import json
import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wayword.cli import shell
from wayword.cli.options import Mode, WorkspacePath, stderr, stdout

if TYPE_CHECKING:
    from wayword.store.workspace import Workspace


def evaluate(
    workspace: WorkspacePath,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print the list of estimates as JSON; with --verdict, --compare or --slice, an object of these.",
        ),
    ] = False,
    mode: Mode = "any",
    only_verdict: Annotated[
        bool, typer.Option("--verdict", help="Only the verdict, without tables.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Print all tables: kinds of people, utility, lists as a whole.")
    ] = False,
    people: Annotated[
        bool, typer.Option("--people", help="Typing sessions only, for several kinds of people.")
    ] = False,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="A B", help="Compare policy A with policy B. [default: served, popular]"),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--slice",
            metavar="COLUMN",
            help="A verdict for each value of a context column, or by `frequency` or `prefix-length`.",
        ),
    ] = None,
    fail_below: Annotated[
        list[str] | None,
        typer.Option(
            metavar="POLICY:METRIC@K=VALUE",
            help="Exit with code 1 if an estimate is lower; repeatable. @K only where the metric has one.",
        ),
    ] = None,
) -> None:
    """Say whether what is served is better for people than most popular completion, and how sure that is.

    Example: `wayword evaluate workspace`

    Every table: `wayword evaluate workspace --all`

    Only completions that continue what was typed: `wayword evaluate workspace --mode prefix`

    In a team's CI: `wayword evaluate workspace --fail-below wayword:found=0.95`

    What is evaluated is what is served: if the index, its overrides or block lists have changed since, they are
    evaluated again. docs/evaluate.md explains verdicts, assumptions and slices.
    """
    from wayword.report.estimates import estimates_of, print_all, print_estimates
    from wayword.report.sessions import print_sessions, sessions_of
    from wayword.report.thresholds import Threshold, failures
    from wayword.report.verdict import (
        comparison_of,
        print_slices,
        print_verdict,
        slices_of,
        verdict_of,
    )
    from wayword.store.workspace import Workspace

    thresholds = [Threshold.parse(text) for text in fail_below or ()]
    opened = _up_to_date(Workspace.open(workspace))
    with opened.reading():
        found = comparison_of(opened, *compare, mode=mode) if compare else verdict_of(opened, mode=mode)
        sliced = slices_of(opened, by, (found["policy"], found["other"]), mode=mode) if by else []
        rows = estimates_of(opened, None, mode=mode)
        if as_json:
            judged = {"verdict": found, "slices": sliced} if only_verdict or compare or by else None
            answer = judged or (sessions_of(opened, mode=mode) if people else rows)
            shell.write(json.dumps(_without_nan(answer), indent=1))
        else:
            console = stdout()
            print_verdict(found, console)
            console.print()
            if by:
                print_slices(sliced, by, opened.config.evaluation.level, console)
            elif people:
                print_sessions(opened, console, mode=mode, everything=True)
            elif everything:
                print_all(opened, console, mode=mode)
            elif not (compare or only_verdict):
                print_estimates(opened, console, mode=mode)
    if failed := failures(thresholds, rows):
        for line in failed:
            typer.echo(line, err=True)
        raise typer.Exit(1)


def _up_to_date(workspace: "Workspace") -> "Workspace":
    """Evaluate again if something else is served than what was evaluated; if that cannot be, say so."""
    from wayword.errors import WaywordError
    from wayword.pipeline import evaluate as evaluate_again
    from wayword.progress import Bars

    try:
        with Bars(stderr()).shown() as bars:
            return evaluate_again(workspace, bars)
    except WaywordError as problem:
        typer.echo(f"note: these estimates may not be of what is served now: {problem}", err=True)
        return workspace


def _without_nan(value: Any) -> Any:
    """Replace NaN, which JSON lacks, with null: the value could not be estimated."""
    if isinstance(value, dict):
        return {name: _without_nan(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_without_nan(one) for one in value]
    return None if isinstance(value, float) and math.isnan(value) else value
