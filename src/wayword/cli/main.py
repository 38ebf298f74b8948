"""Commands: thin shells around the library. Data on stdout, trouble on stderr, exit code 2 for bad input."""

import json
import math
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wayword import __version__
from wayword.cli import shell
from wayword.errors import WaywordError

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(
    help="Query autocompletion that knows where each query leads.",
    no_args_is_help=True,
    add_completion=False,  # of the shell's command line: another thing under the same name
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
Seed = Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Same seed, same result.")]
Mode = Annotated[
    str,
    typer.Option(help="any: every query that leads there; prefix: only such as go on from what was typed."),
]
WorkspacePath = Annotated[
    Path, typer.Argument(metavar="WORKSPACE", help="The folder that `wayword run` wrote.")
]


def _console(*, stderr: bool = False) -> "Console":
    from rich.console import Console

    return Console(stderr=stderr)


def _errors() -> "Console":
    return _console(stderr=True)


@app.command()
def simulate(
    world: Annotated[str, typer.Argument(help="packages, debian, debian-pecos or xmc:PATH")],
    out: Annotated[Path, typer.Option(help="Folder for clicks, rankings, documents and truth (.parquet).")],
    clicks: Annotated[int, typer.Option(min=1, help="How many clicks the log shall have.")] = 60_000,
    seed: Seed = 0,
    clicks_only: Annotated[
        bool, typer.Option("--clicks-only", help="Leave out searches without a click.")
    ] = False,
    ranker: Annotated[
        str | None, typer.Option(help="xmc only: the engine, bm25 or pecos. [default: bm25]")
    ] = None,
    labels: Annotated[
        int | None, typer.Option(min=1, help="xmc only: keep so many most frequent labels. [default: 50000]")
    ] = None,
    part: Annotated[
        float | None,
        typer.Option(
            metavar="PROBABILITY",
            help="Not for xmc: add a column `part`, known while typing: which part of the archive the person "
            "browses, right with this probability.",
        ),
    ] = None,
) -> None:
    """Make a click log in a world whose truth is known.

    Example: `wayword simulate packages --clicks 60000 --seed 0 --out data`

    With something known besides the prefix: `wayword simulate packages --part 0.7 --out data`

    The paper's own data: `wayword simulate xmc:LF-AmazonTitles-1.3M --ranker pecos --clicks 3842425 --out data`
    """
    from wayword.pipeline import simulate as simulate_world
    from wayword.progress import Bars
    from wayword.simulation.simulate import FACTS

    with Bars(_errors()).shown() as bars, bars.stage("simulate"):
        simulate_world(
            world,
            clicks=clicks,
            seed=seed,
            out=out,
            clicks_only=clicks_only,
            ranker=ranker,
            labels=labels,
            part=part,
            progress=bars,
        )
    facts = json.loads((out / FACTS).read_text(encoding="utf-8"))
    typer.echo(
        f"Wrote clicks, rankings, documents and truth to {out}. {facts['click_rate']:.1%} of searches end in a click; "
        f"{facts['invisible_share']:.1%} of what people want is not on the page of their query, so no log shows it.",
        err=True,
    )


@app.command()
def run(
    log: Annotated[
        Path, typer.Option(help="Click log: Parquet, CSV or JSON Lines with query, document, rank.")
    ],
    out: Annotated[Path, typer.Option(help="The workspace: a new folder, or one of an earlier run.")],
    rankings: Annotated[
        Path | None, typer.Option(help="What your engine answers: query, document, rank.")
    ] = None,
    documents: Annotated[
        Path | None,
        typer.Option(help="Document table (document, title): titles for people; ranked if no rankings."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="Settings (TOML); `wayword config` prints them all.")
    ] = None,
    judgments: Annotated[
        bool, typer.Option("--judgments", help="The log holds graded judgments: query, document, grade.")
    ] = False,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Drop clicks that the rankings cannot explain.")
    ] = False,
    truth: Annotated[Path | None, typer.Option(help="A simulated world's truth: adds the ceiling.")] = None,
    paper: Annotated[
        bool, typer.Option("--paper", help="Train the paper's retriever and ranker too, and compare.")
    ] = False,
) -> None:
    """Run every stage: from a click log to served completions. What has not changed is not done again.

    Example: `wayword run --log clicks.parquet --rankings rankings.parquet --out workspace`
    """
    from wayword.pipeline import run as run_pipeline
    from wayword.progress import Bars

    with Bars(_errors()).shown() as bars:
        workspace = run_pipeline(
            log,
            rankings,
            out=out,
            documents=documents,
            config=config,
            judged=judgments,
            lenient=lenient,
            truth=truth,
            paper=paper,
            reporter=bars,
        )
    _warn(workspace.report("rankings"))
    typer.echo(f"The workspace is {out}. Next: wayword evaluate {out}", err=True)


NOTES = {
    "clicks on documents that no ranking contains": "were dropped: no ranking contains their documents",
    "clicks from queries without a ranking": "were dropped: their queries have no ranking",
    "mismatched clicks": "were logged at another rank than the rankings give; see `on_mismatch` in `wayword config`",
    "clicks from another form of their query with other results": "are from another form of their query "
    "(case, punctuation), whose result list was not taken",
}


def _warn(report: dict[str, Any]) -> None:
    """Say what did not fit between log and rankings."""
    explained = report["clicks explained by the rankings"]
    for what, meaning in NOTES.items():
        if report.get(what):
            typer.echo(f"note: {report[what]:,} clicks {meaning} ({explained:,} clicks are used)", err=True)


@app.command()
def ubi(
    inputs: Annotated[
        list[Path],
        typer.Argument(metavar="FILES_OR_FOLDERS", help="NDJSON, plain or .gz, or folders of it."),
    ],
    out: Annotated[Path, typer.Option(help="Folder for clicks, rankings and completions (.parquet).")],
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
        float, typer.Option(min=0, max=1, help="The share of lines that may be unreadable.")
    ] = 0.01,
    memory: Annotated[
        str | None, typer.Option(help="Tables beyond that wait on disk, e.g. 4GB. [default: most of it]")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="What was found, for programs.")] = False,
) -> None:
    """Turn OpenSearch UBI events, Wayword's own or others, into a log for `wayword run`.

    Example: `wayword ubi workspace/events --out log`

    Then: `wayword run --log log/clicks.parquet --rankings log/rankings.parquet --out workspace`

    Purchases count as well: `wayword ubi ubi.ndjson.gz --clicks click,purchase --out log`

    Where Wayword's completions were shown, it also says what people did with them. docs/ubi.md has the rules.
    """
    from wayword.logs.ubi.clicks import CLICKS
    from wayword.logs.ubi.read import read_ubi
    from wayword.logs.ubi.summary import as_object, next_command, print_log
    from wayword.progress import Bars

    with Bars(_errors()).shown() as bars:
        bars.begin("ubi")
        started = time.monotonic()
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
        bars.end("ubi", reused=False, seconds=time.monotonic() - started)
    if as_json:
        shell.write(json.dumps(as_object(log), indent=1, ensure_ascii=False))
    else:
        print_log(log, _console())
    for note in log.notes:
        typer.echo(f"note: {note}", err=True)
    typer.echo(f"The log is in {out}. Next: {next_command(log)}", err=True)


@app.command()
def evaluate(
    workspace: WorkspacePath,
    as_json: Annotated[bool, typer.Option("--json", help="A list of estimates for programs.")] = False,
    mode: Mode = "any",
    dial: Annotated[
        bool, typer.Option("--dial", help="What the dial between utility and acceptance costs and gains.")
    ] = False,
) -> None:
    """Utility@1/5/10 of each policy on the test searches, with intervals.

    Example: `wayword evaluate workspace --json`

    Only completions that go on from what was typed: `wayword evaluate workspace --mode prefix`
    """
    from wayword.report.estimates import (
        dial_of,
        estimates_of,
        print_dial,
        print_estimates,
    )
    from wayword.store.workspace import Workspace

    opened = Workspace.open(workspace)
    if as_json:
        rows = dial_of(opened) if dial else estimates_of(opened, None, mode=mode)
        shell.write(json.dumps([_without_nan(row) for row in rows], indent=1))
    elif dial:
        with opened.reading():
            print_dial(opened, _console())
    else:
        with opened.reading():
            print_estimates(opened, _console(), mode=mode)


@app.command()
def index(
    workspace: WorkspacePath,
    config: Annotated[
        Path | None,
        typer.Option(help="Settings (TOML), of which [index] is used. [default: those of the workspace]"),
    ] = None,
    use: Annotated[
        str | None, typer.Option(metavar="VERSION", help="Serve this version again, and build nothing.")
    ] = None,
    versions: Annotated[bool, typer.Option("--versions", help="List the versions that are there.")] = False,
) -> None:
    """Write what is served: a finished list for every known text. `wayword run` does this too.

    Example: `wayword index workspace`

    With other settings: `wayword index workspace --config wayword.toml`

    The version before, if the newest is not good: `wayword index workspace --use 0123456789abcdef`
    """
    from wayword.config import Config
    from wayword.index import versions as known
    from wayword.index.versions import ROOT
    from wayword.pipeline import index_of
    from wayword.progress import Bars
    from wayword.store.workspace import Workspace

    opened = Workspace.open(workspace)
    root = opened.path / ROOT
    if versions:
        current = known.current(root).name
        shell.write("\n".join(f"{name}{'  current' * (name == current)}" for name in known.versions(root)))
        return
    if use is not None:
        known.point(root, use)
    else:
        settings = Config.load(config) if config else opened.config
        with Bars(_errors()).shown() as bars:
            index_of(opened, settings, bars)
    typer.echo(f"The current version is {known.current(root).name}.", err=True)


@app.command()
def export(
    workspace: WorkspacePath,
    out: Annotated[Path, typer.Option(help="The file to write.")],
    form: Annotated[
        str, typer.Option("--format", help="jsonl, elasticsearch, opensearch or solr.")
    ] = "jsonl",
    k: Annotated[int, typer.Option("-k", min=1, max=1000, help="How many completions of each text.")] = 10,
    mode: Mode = "any",
    shortest: Annotated[int, typer.Option(min=1, help="Leave out texts with fewer characters.")] = 1,
) -> None:
    """What is served for every known text, as a file: for those who want no new service.

    Example: `wayword export workspace --out lists.jsonl`

    For a completion field: `wayword export workspace --format elasticsearch --out lists.bulk`

    What is denied, deleted or pinned by hand is respected. docs/serving.md says how engines are set up and asked.
    """
    from wayword.progress import Bars
    from wayword.serving.completer import Completer
    from wayword.serving.export import export as write
    from wayword.store.workspace import Workspace

    served = Completer.open(Workspace.open(workspace)).served
    with Bars(_errors()).shown() as bars:
        bars.begin("export")
        started = time.monotonic()
        written = write(served, out, form, k=k, mode=mode, shortest=shortest, reporter=bars)
        bars.end("export", reused=False, seconds=time.monotonic() - started)
    typer.echo(f"Wrote the lists of {written:,} texts to {out}.", err=True)


@app.command()
def serve(
    workspace: WorkspacePath,
    host: Annotated[str, typer.Option(help="The address to listen at; 0.0.0.0 is every one.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 8080,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that answer.")] = 1,
    against: Annotated[
        Path | None, typer.Option(help="A second workspace, served to a share of the users: an A/B test.")
    ] = None,
    share: Annotated[float, typer.Option(min=0, max=1, help="The share of users that it answers.")] = 0.5,
    experiment: Annotated[str, typer.Option(help="Its name: another assigns users to the arms anew.")] = "",
    origin: Annotated[
        list[str] | None,
        typer.Option(help="A site whose pages may call the service; repeatable. `*`: every site."),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="WAYWORD_TOKEN",
            show_envvar=True,
            help="Needed to post events and to change overrides; 16 characters or more, better by the environment.",
        ),
    ] = None,
    public_events: Annotated[
        bool, typer.Option("--public-events", help="Take events from everyone, though there is a token.")
    ] = False,
    rate: Annotated[float, typer.Option(min=0, help="Requests per second and client; 0: no limit.")] = 100.0,
    burst: Annotated[int, typer.Option(min=1, help="Requests that a client may send at once.")] = 200,
    proxy: Annotated[
        bool, typer.Option("--proxy", help="A proxy stands before: X-Forwarded-For says who asks.")
    ] = False,
    max_age: Annotated[
        int, typer.Option(min=0, max=86400, help="Seconds for which browsers may use an answer again.")
    ] = 1,
) -> None:
    """Completions over HTTP, with a page to try them at `/` and the interface described at `/docs`.

    Example: `wayword serve workspace`, then open http://127.0.0.1:8080

    For pages of a site: `wayword serve workspace --host 0.0.0.0 --origin https://shop.example`

    An A/B test: `wayword serve workspace --against other --share 0.1`

    A new index, and what is denied or pinned by hand, are taken over while it runs. docs/http.md says more.
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
        token=token or None,
        public_events=public_events,
        rate=rate,
        burst=burst,
        proxy=proxy,
        max_age=max_age,
    )
    run_server(Workspace.open(workspace).path, options, lambda line: typer.echo(line, err=True))


@app.command()
def complete(
    workspace: WorkspacePath,
    prefix: Annotated[
        str,
        typer.Argument(metavar="PREFIX", help="What was typed; `-` reads one prefix per line from stdin."),
    ],
    k: Annotated[int, typer.Option("-k", min=1, max=1000, help="How many completions.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of a list.")] = False,
    policy: Annotated[
        str | None,
        typer.Option(
            help="expected, diverse, unbiased, retriever, popular or random. [default: what the index serves]"
        ),
    ] = None,
    mode: Mode = "any",
    acceptance: Annotated[
        float, typer.Option(min=0, max=1, help="From utility (0) to what people would have typed anyway (1).")
    ] = 0.0,
    context: Annotated[
        list[str] | None, typer.Option(help="A context column: NAME=VALUE. May be repeated.")
    ] = None,
) -> None:
    """Ranked completions of a typed prefix.

    Example: `wayword complete workspace "video" -k 5`

    Many prefixes, one JSON object per line: `wayword complete workspace - < prefixes.txt`

    Only completions that go on from what was typed: `wayword complete workspace "video" --mode prefix`

    A prefix that begins with a dash comes last, after two dashes: `wayword complete workspace -- -v`
    """
    from wayword.store.workspace import Workspace

    opened = Workspace.open(workspace)
    known = dict(_pair(text) for text in context or [])
    answers = _answers(opened, policy, acceptance)
    typed = shell.lines_in() if prefix == "-" else [[shell.given(prefix)]]
    for prefixes in typed:
        with opened.reading():
            lists = answers(prefixes, k, known, mode)
        if as_json or prefix == "-":
            shell.write("\n".join(map(_as_json, prefixes, lists)))
        elif lists[0]:
            shell.write("\n".join(f"{c.score:10.4f}  {c.query}" for c in lists[0]))
        else:
            typer.echo(f"No completion for {prefix!r}.", err=True)


def _answers(workspace: Any, policy: str | None, acceptance: float) -> Callable[..., list[list[Any]]]:
    """What is served, or what a policy would say."""
    if policy is None and not acceptance:
        from wayword.serving.completer import Completer

        served = Completer.open(workspace)
        return lambda prefixes, k, known, mode: [
            served.complete(prefix, k, context=known, mode=mode) for prefix in prefixes
        ]
    from wayword.completion.policies import DEFAULT
    from wayword.pipeline import load_policies
    from wayword.serving.policy_completer import PolicyCompleter

    asked = PolicyCompleter.open(workspace, load_policies)
    return lambda prefixes, k, known, mode: asked.complete_many(
        prefixes, k, context=known, policy=policy or DEFAULT, mode=mode, acceptance=acceptance
    )


def _as_json(prefix: str, completions: Iterable[Any]) -> str:
    listed = [{"query": c.query, "score": c.score, "source": c.source} for c in completions]
    return json.dumps({"prefix": prefix, "completions": listed}, ensure_ascii=False)


def _without_nan(row: dict[str, Any]) -> dict[str, Any]:
    """JSON has no NaN: what could not be estimated is null."""
    return {name: None if isinstance(v, float) and math.isnan(v) else v for name, v in row.items()}


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = shell.given(text).partition("=")
    if not equals:
        raise WaywordError(f"Found --context {text}; expected NAME=VALUE.")
    return name, value


@app.command()
def reproduce(
    out: Annotated[Path, typer.Option(help="Folder for the report, its figures and its tables.")],
    world: Annotated[str, typer.Option(help="debian, debian-pecos, packages or xmc:PATH")] = "debian",
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="One experiment alone; may be repeated: core, paper, label-ablations, propensity-ablations, "
            "training-size, context, encoders, guardrails, theory, statistics."
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the clicks and less work.")] = False,
    clicks: Annotated[
        int | None,
        typer.Option(min=1, help="How many clicks. [default: 300000; packages 60000; xmc the paper's]"),
    ] = None,
    seed: Seed = 0,
    seeds: Annotated[int, typer.Option(min=1, max=100, help="Repeat on so many logs: the spread.")] = 1,
    workspace: Annotated[
        Path | None, typer.Option(help="Where experiments are kept. [default: OUT/workspace]")
    ] = None,
) -> None:
    """The paper's experiments on a simulated world, with a report that opens in a browser.

    Example: `wayword reproduce --quick --out reproduction`

    One experiment alone: `wayword reproduce --only label-ablations --out reproduction`
    """
    from wayword.paper.reproduce import reproduce as reproduce_paper
    from wayword.progress import Bars

    with Bars(_errors()).shown() as bars:
        written = reproduce_paper(
            world,
            out=out,
            workspace=workspace,
            only=only or (),
            clicks=clicks,
            seed=seed,
            seeds=seeds,
            quick=quick,
            reporter=bars,
        )
    typer.echo(f"The report is {written}.", err=True)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the data and the workspace.")] = Path("demo"),
    clicks: Annotated[int, typer.Option(min=1, help="How many clicks to simulate.")] = 60_000,
    seed: Seed = 0,
) -> None:
    """All of the above in one: simulate people searching for packages, learn from their clicks, and complete.

    Example: `wayword demo --out demo`
    """
    from wayword.cli.demo import show

    show(out, clicks=clicks, seed=seed, console=_console(), errors=_errors())


@app.command()
def config() -> None:
    """Every setting with its meaning and default, as a TOML file.

    Example: `wayword config > wayword.toml`
    """
    from wayword.config import as_toml

    shell.write(as_toml().rstrip("\n"))


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"wayword {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Query autocompletion that knows where each query leads."""


def main() -> None:
    """Run the command that was typed."""
    shell.run(lambda: app(prog_name="wayword"))
