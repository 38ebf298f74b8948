"""The command that checks a log before anything is learned from it."""

import json
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from wayword.cli import shell
from wayword.cli.options import stderr


def check(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="Click log: Parquet, CSV or JSON Lines.")],
    rankings: Annotated[
        Path | None,
        typer.Argument(metavar="[RANKINGS]", help="Your engine's rankings: query, document, rank."),
    ] = None,
    impressions: Annotated[
        Path | None, typer.Option(help="What each search showed: search_id, query, document, rank, clicked.")
    ] = None,
    first_rank: Annotated[
        int, typer.Option(min=0, max=1, help="The rank of the topmost result in the impressions.")
    ] = 1,
    judgments: Annotated[
        bool, typer.Option("--judgments", help="The log holds graded judgments: query, document, grade.")
    ] = False,
    config: Annotated[
        Path | None, typer.Option(help="Settings (TOML); the thresholds are in [check].")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Check a log, and the rankings, before anything is learned from them: what is wrong, where, and what to do.

    Example: `wayword check clicks.csv rankings.csv`

    FAIL: results would be wrong, or the file cannot be used; the exit code is 1. WARN: you should know. `wayword run`
    checks first too, and stops on FAIL. docs/check.md lists what is found.
    """
    from wayword.check.findings import Given, failed, findings
    from wayword.check.printed import lines, summary
    from wayword.config import Config
    from wayword.engines.duck import DuckDB
    from wayword.progress import Bars
    from wayword.store.input_file import InputFile

    settings = Config.load(config)
    ranked, shown = (None if path is None else InputFile(path) for path in (rankings, impressions))
    given = Given(InputFile(log), ranked, shown, judged=judgments, first_rank=first_rank)
    engine = DuckDB()
    try:
        with Bars(stderr()).shown() as bars, bars.stage("check"):
            found = findings(engine, given, settings)
    finally:
        engine.close()
    if as_json:
        shell.write(json.dumps([asdict(one) for one in found], indent=1, ensure_ascii=False))
    else:
        shell.write("\n".join(line for one in found for line in lines(one)))
    typer.echo(f"{summary(found)}.", err=True)
    if failed(found):
        raise typer.Exit(1)
    if rankings is not None:
        files = f"--log {shlex.quote(str(log))} --rankings {shlex.quote(str(rankings))}"
        typer.echo(f"Next: wayword run {files} --out workspace", err=True)
