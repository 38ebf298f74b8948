"""The command that imports the logs of other systems."""

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from wayword.cli import shell
from wayword.cli.options import stderr, stdout
from wayword.errors import WaywordError


def import_log(
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="SOURCE...", help="Files, folders or patterns; plain, gzip or zstd."),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the log.")],
    format_name: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="tables, ubi, ga4, metarank, coveo, algolia or aol. [default: found by the content]",
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="NAME=COLUMN",
            help="The file's column of query, document, rank, search_id, …; another NAME is a context column.",
        ),
    ] = None,
    first_rank: Annotated[
        int | None,
        typer.Option(min=0, max=1, help="The position of the first result. [default: found in the data]"),
    ] = None,
    weight: Annotated[
        list[str] | None,
        typer.Option(metavar="ACTION=NUMBER", help="An action that counts, e.g. purchase=5; a click is 1."),
    ] = None,
    memory: Annotated[
        str | None, typer.Option(help="Memory limit, e.g. 2GB; more spills to disk. [default: most of it]")
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="Of text files, e.g. latin-1. [default: found by the content]")
    ] = None,
    unreadable: Annotated[
        float, typer.Option(min=0, max=1, help="The share of lines that may be broken.")
    ] = 0.01,
    partial: Annotated[
        bool, typer.Option(help="Read truncated compressed files up to where they end.")
    ] = False,
    documents: Annotated[
        Path | None,
        typer.Option(help="Your products under any names of columns: written as documents.parquet."),
    ] = None,
    rankings: Annotated[
        Path | None,
        typer.Option(
            help="What your search returns (query, document, rank) under any names: rankings.parquet. A log without "
            "ranks takes them from here."
        ),
    ] = None,
    bots: Annotated[
        str,
        typer.Option(
            metavar="WAY",
            help="Users who search faster than people: auto (left out, unless they may be an id that many share), "
            "drop or keep.",
        ),
    ] = "auto",
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Take columns by their usual names without a question.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Turn the log of another system into a log for `wayword run`.

    Example: `wayword import shop.csv --map query=search_term --map rank=position --out log`

    Then: `wayword run --log log/clicks.parquet --rankings rankings.parquet --out workspace`

    With your products, under any names: `wayword import suche.csv --documents produkte.csv --out log`

    Purchases count as five clicks: `wayword import 'events/*.json.gz' --weight purchase=5 --out log`

    It prints what was read, kept and dropped, with reasons. docs/import.md has the formats and their rules.
    """
    from wayword.logs.importers import columns as mapping
    from wayword.logs.importers.read import import_log as read
    from wayword.logs.importers.summary import next_command, print_log
    from wayword.progress import Bars

    ask = not yes and sys.stdin.isatty() and sys.stderr.isatty()
    bars = Bars(stderr())
    with nullcontext() if ask else bars.shown(), bars.stage("import"):  # bars would be drawn over a question
        log = read(
            *inputs,
            out=out,
            format=format_name,
            mapping=mapping.parse(columns or []),
            first_rank=first_rank,
            weights=_weights(weight or []),
            memory=memory,
            encoding=encoding,
            unreadable=unreadable,
            partial=partial,
            documents=documents,
            rankings=rankings,
            bots=bots,
            confirm=_confirm if ask else None,
            reporter=bars,
        )
    if as_json:
        shell.write(json.dumps(log.as_object(), indent=1, ensure_ascii=False))
    else:
        print_log(log, stdout())
    for note in log.outcome.notes:
        typer.echo(f"note: {note}", err=True)
    typer.echo(f"The log is in {out}. Next: {next_command(log)}", err=True)


def _confirm(question: str) -> bool:
    return typer.confirm(question, default=True, err=True)


def _weights(pairs: list[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for pair in pairs:
        action, _, number = pair.rpartition("=")
        try:
            found[action.strip()] = float(number)
        except ValueError:
            raise WaywordError(
                f"Found --weight {pair}; expected ACTION=NUMBER, such as purchase=5."
            ) from None
    return found
