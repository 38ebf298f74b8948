"""The command that reads OpenSearch UBI events."""

import json
from pathlib import Path
from typing import Annotated

import typer

from wayword.cli import shell
from wayword.cli.options import stderr, stdout


def ubi(
    inputs: Annotated[
        list[Path],
        typer.Argument(metavar="FILES_OR_FOLDERS", help="NDJSON, plain or .gz, or folders of it."),
    ],
    out: Annotated[
        Path, typer.Option(help="Folder for clicks, rankings, impressions and completions (.parquet).")
    ],
    clicks: Annotated[
        str | None,
        typer.Option(help="Which actions are clicks. [default: click, click_through, item_click]"),
    ] = None,
    first_ordinal: Annotated[
        int | None,
        typer.Option(min=0, max=1, help="The position of the first result. [default: found in the data]"),
    ] = None,
    application: Annotated[str | None, typer.Option(help="Only records of this application.")] = None,
    context: Annotated[
        list[str] | None,
        typer.Option(help="Only this attribute is a context column. May be repeated. [default: all]"),
    ] = None,
    unreadable: Annotated[
        float, typer.Option(min=0, max=1, help="The share of lines that may be malformed.")
    ] = 0.01,
    memory: Annotated[
        str | None,
        typer.Option(help="Memory limit, e.g. 4GB; larger tables spill to disk. [default: most of it]"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Turn OpenSearch UBI events, Wayword's own or others, into a log for `wayword run`.

    Example: `wayword ubi workspace/events --out log`

    Then: `wayword run --log log/clicks.parquet --rankings log/rankings.parquet --impressions log/impressions.parquet
    --out workspace`

    Purchases count as well: `wayword ubi ubi.ndjson.gz --clicks click,purchase --out log`

    For events with Wayword's completions it also prints how people used them. docs/ubi.md has the rules.
    """
    from wayword.logs.ubi.clicks import CLICKS
    from wayword.logs.ubi.read import read_ubi
    from wayword.logs.ubi.summary import as_object, next_command, print_log
    from wayword.progress import Bars

    with Bars(stderr()).shown() as bars, bars.stage("ubi"):
        log = read_ubi(
            *inputs,
            out=out,
            click_actions=CLICKS if clicks is None else [name.strip() for name in clicks.split(",")],
            first_ordinal=first_ordinal,
            application=application,
            context=context,
            unreadable=unreadable,
            memory=memory,
            reporter=bars,
        )
    if as_json:
        shell.write(json.dumps(as_object(log), indent=1, ensure_ascii=False))
    else:
        print_log(log, stdout())
    for note in log.notes:
        typer.echo(f"note: {note}", err=True)
    typer.echo(f"The log is in {out}. Next: {next_command(log)}", err=True)
