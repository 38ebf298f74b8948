"""Commands that build the index and serve or export its completions: index, export and serve."""

from pathlib import Path
from typing import Annotated

import typer

from wayword.cli import shell
from wayword.cli.options import Mode, WorkspacePath, stderr
from wayword.request import MAX_COMPLETIONS


def index(
    workspace: WorkspacePath,
    config: Annotated[
        Path | None,
        typer.Option(help="Settings (TOML), of which [index] is used. [default: those of the workspace]"),
    ] = None,
    documents: Annotated[
        Path | None,
        typer.Option(
            help="Document table (document, available): what is not available is left out from now on."
        ),
    ] = None,
    use: Annotated[
        str | None, typer.Option(metavar="VERSION", help="Serve this version; build nothing.")
    ] = None,
    versions: Annotated[bool, typer.Option("--versions", help="List the versions.")] = False,
) -> None:
    """Build the index: a finished list of completions for every known text. `wayword run` does this too.

    Example: `wayword index workspace`

    With other settings: `wayword index workspace --config wayword.toml`

    What is in stock has changed: `wayword index workspace --documents documents.parquet`

    An earlier version: `wayword index workspace --use 0123456789abcdef`
    """
    from wayword.config import Config
    from wayword.errors import WaywordError
    from wayword.index import versions as index_versions
    from wayword.index.versions import ROOT
    from wayword.pipeline import index_of, with_availability
    from wayword.progress import Bars
    from wayword.store.workspace import Workspace

    if documents is not None and (versions or use is not None):
        raise WaywordError(
            f"Found --documents {documents} with {'--versions' if versions else '--use'}, which builds no index; "
            "leave one of them out."
        )
    opened = Workspace.open(workspace)
    root = opened.path / ROOT
    if versions:
        current = index_versions.current(root).name
        shell.write(
            "\n".join(f"{name}{'  current' * (name == current)}" for name in index_versions.versions(root))
        )
        return
    if use is not None:
        index_versions.point(root, use)
    else:
        settings = Config.load(config) if config else opened.config
        with Bars(stderr()).shown() as bars:
            if documents is not None:
                opened = with_availability(opened, documents, bars)
            index_of(opened, settings, bars)
        print_withheld(index_versions.current(root))
    typer.echo(f"The current version is {index_versions.current(root).name}.", err=True)


def print_withheld(version: Path) -> None:
    """Print how many queries of an index are not shown, and why."""
    from wayword.store.artefact import report_of

    start = "withheld: "
    counts = {name: n for name, n in report_of(version).items() if name.startswith(start)}
    if counts:
        parts = ", ".join(f"{name.removeprefix(start)} {n:,}" for name, n in counts.items())
        typer.echo(
            f"note: {sum(counts.values()):,} queries are not shown: {parts}. See [index] in the settings.",
            err=True,
        )


def export(
    workspace: WorkspacePath,
    out: Annotated[Path, typer.Option(help="The file to write.")],
    form: Annotated[
        str, typer.Option("--format", help="jsonl, elasticsearch, opensearch or solr.")
    ] = "jsonl",
    k: Annotated[
        int, typer.Option("-k", min=1, max=MAX_COMPLETIONS, help="How many completions of each text.")
    ] = 10,
    mode: Mode = "any",
    shortest: Annotated[int, typer.Option(min=1, help="Leave out texts with fewer characters.")] = 1,
) -> None:
    """Write the served completions of every known text to a file, for use without a new service.

    Example: `wayword export workspace --out lists.jsonl`

    For a completion field: `wayword export workspace --format elasticsearch --out lists.bulk`

    Denied, deleted and pinned completions are respected. docs/serving.md says how to set up and query the engines.
    """
    from wayword.progress import Bars
    from wayword.serving.completer import Completer
    from wayword.serving.export import export as write
    from wayword.store.workspace import Workspace

    served = Completer.open(Workspace.open(workspace)).served
    with Bars(stderr()).shown() as bars, bars.stage("export"):
        written = write(served, out, form, k=k, mode=mode, shortest=shortest, reporter=bars)
    typer.echo(f"Wrote the lists of {written:,} texts to {out}.", err=True)


def serve(
    workspace: WorkspacePath,
    host: Annotated[str, typer.Option(help="The address to listen at; 0.0.0.0 is every one.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any free port.")] = 8080,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Number of server processes.")] = 1,
    against: Annotated[
        Path | None, typer.Option(help="A second workspace, served to a share of the users: an A/B test.")
    ] = None,
    share: Annotated[
        float, typer.Option(min=0, max=1, help="The share of users who get the second workspace.")
    ] = 0.5,
    experiment: Annotated[
        str, typer.Option(help="Name of the A/B test; a new name assigns users anew.")
    ] = "",
    origin: Annotated[
        list[str] | None,
        typer.Option(help="A site whose pages may call the service; repeatable. `*`: every site."),
    ] = None,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(help="A name under which clients reach the service, such as a proxy's; repeatable."),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="WAYWORD_TOKEN",
            show_envvar=True,
            help="Required for events and overrides; 16 characters or more. Better set in the environment.",
        ),
    ] = None,
    public_events: Annotated[
        bool, typer.Option("--public-events", help="Accept events without the token.")
    ] = False,
    rate: Annotated[float, typer.Option(min=0, help="Requests per second and client; 0: no limit.")] = 100.0,
    burst: Annotated[int, typer.Option(min=1, help="Requests that a client may send at once.")] = 200,
    client_connections: Annotated[
        int, typer.Option(min=1, help="Connections that a client may hold; does not apply with --proxy.")
    ] = 128,
    max_connections: Annotated[int, typer.Option(min=1, help="Connections of all clients.")] = 4096,
    proxy: Annotated[
        bool, typer.Option("--proxy", help="Behind a proxy: X-Forwarded-For names the client.")
    ] = False,
    max_age: Annotated[
        int, typer.Option(min=0, max=86400, help="Seconds for which browsers may cache a response.")
    ] = 1,
) -> None:
    """Serve completions over HTTP, with a page to try them at `/` and the interface described at `/docs`.

    Example: `wayword serve workspace`, then open http://127.0.0.1:8080

    For pages of a site: `wayword serve workspace --host 0.0.0.0 --origin https://shop.example`

    An A/B test: `wayword serve workspace --against other --share 0.1`

    The service picks up a new index and changed overrides while it runs. docs/http.md says more.
    """
    from wayword.serving.options import Options
    from wayword.serving.server import serve as run_server
    from wayword.store.workspace import Workspace

    options = Options(
        host=host,
        port=port,
        workers=workers,
        against=Workspace.open(against).path if against else None,
        share=share,
        experiment=experiment,
        origins=tuple(origin or ()),
        allowed_hosts=tuple(allowed_host or ()),
        token=token or None,
        public_events=public_events,
        rate=rate,
        burst=burst,
        client_connections=client_connections,
        max_connections=max_connections,
        proxy=proxy,
        max_age=max_age,
    )
    run_server(Workspace.open(workspace).path, options, lambda line: typer.echo(line, err=True))
