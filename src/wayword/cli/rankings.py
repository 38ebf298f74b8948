"""The command that asks an engine for its rankings."""

import json
import re
import shlex
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wayword.cli import shell
from wayword.cli.options import stderr
from wayword.errors import WaywordError

if TYPE_CHECKING:
    from wayword.rankings.collect import Collected

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def _duration(text: str) -> float:
    """Seconds.

    >>> _duration("36h") / 3600, _duration("7d") / 86_400
    (36.0, 7.0)
    """
    match = re.fullmatch(r"(\d{1,6}(?:\.\d+)?)([smhdw])", text)
    if match is None:
        raise WaywordError(f"Found --max-age {text}; expected a number and a unit, such as 12h, 7d or 2w.")
    return float(match[1]) * _SECONDS[match[2]]


def rankings(
    origin: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="ENGINE",
            help="opensearch, elasticsearch, solr, postgres, sqlite, url, bm25, or a file of query, document and rank.",
        ),
    ],
    queries: Annotated[
        list[Path], typer.Option(metavar="LOG", help="A log, whose queries are asked. May be repeated.")
    ],
    out: Annotated[Path, typer.Option(help="The table (.parquet): a new one, or one of an earlier run.")],
    further: Annotated[
        list[Path] | None,
        typer.Option(help="A table of further queries: what you would suggest besides. May be repeated."),
    ] = None,
    depth: Annotated[int, typer.Option(min=1, max=10_000, help="Number of documents per query.")] = 100,
    endpoint: Annotated[
        str | None,
        typer.Option(
            help="Where the engine is: a URL without credentials; for url a template with {query}; for sqlite a file."
        ),
    ] = None,
    index: Annotated[str | None, typer.Option(help="The index, collection or core.")] = None,
    template: Annotated[
        Path | None,
        typer.Option(help="Your search: JSON with {query}, or SQL with a bound value (docs/rankings.md)."),
    ] = None,
    json_path: Annotated[
        str | None,
        typer.Option(
            help="Where an answer lists the documents, such as results[*].id. [default: the engine's own]"
        ),
    ] = None,
    documents: Annotated[Path | None, typer.Option(help="bm25: the table of document and title.")] = None,
    language: Annotated[str | None, typer.Option(help="bm25: stem words, e.g. english or german.")] = None,
    credentials_env: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Environment variable with user:password, or `Bearer …`, `ApiKey …`."
        ),
    ] = None,
    credentials_file: Annotated[Path | None, typer.Option(help="A file with the same.")] = None,
    credentials_header: Annotated[
        str, typer.Option(metavar="HEADER", help="The header that carries them.")
    ] = "Authorization",
    ca: Annotated[Path | None, typer.Option(help="Certificates of your own authority (PEM).")] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=64, help="Requests at a time, at most.")] = 4,
    batch: Annotated[
        int | None,
        typer.Option(min=1, max=10_000, help="opensearch, elasticsearch: queries per request. [default: 50]"),
    ] = None,
    retries: Annotated[
        int, typer.Option(min=0, max=100, help="How often a query without an answer is asked again.")
    ] = 6,
    timeout: Annotated[float, typer.Option(min=0.1, max=3600, help="Seconds for one answer.")] = 30.0,
    max_age: Annotated[
        str | None, typer.Option(metavar="AGE", help="Ask again where the answer is older, e.g. 12h or 7d.")
    ] = None,
    max_failed: Annotated[
        float, typer.Option(min=0, max=1, help="Largest share of queries that may stay without an answer.")
    ] = 0.01,
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    """Ask your engine what it returns for every query of a log, for `wayword run --rankings`.

    Example: `wayword rankings --from opensearch --endpoint https://localhost:9200 --index products
    --template search.json --queries clicks.parquet --out rankings.parquet`

    A second run asks only what is new, or with `--max-age 7d` older than that. A run that was killed goes on.

    docs/rankings.md has an example of each engine.
    """
    from wayword.progress import Bars
    from wayword.rankings.asking import Limits
    from wayword.rankings.collect import collect
    from wayword.rankings.sources.credentials import Credentials
    from wayword.rankings.sources.members import open_source
    from wayword.rankings.sources.source import Options

    age = None if max_age is None else _duration(max_age)
    credentials = Credentials.read(variable=credentials_env, file=credentials_file, header=credentials_header)
    options = Options(endpoint, index, template, json_path, documents, language, credentials, ca, timeout)
    with (
        closing(open_source(origin, options)) as source,
        Bars(stderr()).shown() as bars,
        bars.stage("rankings"),
    ):
        found = collect(
            source,
            queries,
            out=out,
            further=further or (),
            depth=depth,
            max_age=age,
            limits=Limits(concurrency, batch, retries, max_failed),
            progress=bars,
        )
    if as_json:
        shell.write(json.dumps(found.as_object(), indent=1, ensure_ascii=False))
    _print(found, queries)


def _print(found: "Collected", logs: list[Path]) -> None:
    """Print what was collected, to the error stream."""
    for note in found.notes:
        typer.echo(f"note: {note}", err=True)
    if found.failures.count:
        typer.echo(f"note: {found.failures.count:,} queries have no answer, e.g.\n{found.failures}", err=True)
    typer.echo(
        f"{found.queries:,} queries: {found.asked:,} asked, {found.known:,} known before; "
        f"{found.without_results:,} answers of the table are without results.",
        err=True,
    )
    typer.echo(
        f"The rankings are in {found.path}. Next: wayword run --log {shlex.quote(str(logs[0]))} "
        f"--rankings {shlex.quote(str(found.path))} --out workspace",
        err=True,
    )
