"""The demo: simulate people searching for packages, learn from their clicks, compare policies, complete."""

import shutil
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from wayword.completion.policies import DEFAULT
from wayword.pipeline import load_policies, run
from wayword.progress import Bars
from wayword.report.estimates import print_all
from wayword.report.verdict import print_verdict, verdict_of
from wayword.serving.policy_completer import PolicyCompleter
from wayword.simulation.simulate import simulate

PREFIXES = ("vid", "mail", "photo", "text ed", "music pl", "game")


def run_demo(out: Path, *, clicks: int, seed: int, console: Console, errors: Console) -> None:
    """Simulate, run, print estimates and completions, and print the commands to try next."""
    data, workspace = out / "data", out / "workspace"
    with Bars(errors).shown() as bars:
        with bars.stage("simulate"):
            simulate("packages", clicks=clicks, seed=seed, out=data, progress=bars)
        learned = run(
            data / "clicks.parquet",
            data / "rankings.parquet",
            documents=data / "documents.parquet",
            truth=data / "truth.parquet",
            out=workspace,
            paper=True,
            reporter=bars,
        )
    print_verdict(verdict_of(learned), console)
    console.print()
    print_all(learned, console)
    console.print()
    console.print(_comparison(PolicyCompleter.open(learned, load_policies)))
    console.print("\nNext:", style="bold")
    command = _command_name(sys.argv[0])
    for line in (
        f"{command} complete {workspace} video -k 5",
        f"{command} serve {workspace}",
        f"{command} evaluate {workspace}",
        f"{command} report {workspace} --out {out}/report.html",
        f"{command} run --log {data}/clicks.parquet --rankings {data}/rankings.parquet --out my-workspace",
    ):
        console.print(f"  {line}", highlight=False, soft_wrap=True)


def _command_name(called: str) -> str:
    """Return the command that calls Wayword: its name if it is on the PATH, else as it was called now.

    >>> _command_name("/usr/lib/python3/wayword/__main__.py"), _command_name(".venv/bin/not-on-the-path")
    ('python -m wayword', '.venv/bin/not-on-the-path')
    """
    if Path(called).suffix == ".py":
        return "python -m wayword"
    found = shutil.which("wayword")
    return called if Path(called).parent.name and not (found and Path(found).samefile(called)) else "wayword"


def _comparison(completer: PolicyCompleter) -> Table:
    """Tabulate the most popular completions and Wayword's for a few prefixes."""
    table = Table(title="A few prefixes: most popular completion, and Wayword's")
    for column in ("typed", "most popular", "wayword"):
        table.add_column(column)
    for prefix in PREFIXES:
        lists = [completer.complete(prefix, 4, policy=policy) for policy in ("popular", DEFAULT)]
        table.add_row(
            prefix,
            *("\n".join(c.query for c in completions) or "–" for completions in lists),
            end_section=True,
        )
    return table
