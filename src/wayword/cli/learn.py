"""Commands that learn from a log, simulate one, or do both: simulate, run, demo and reproduce."""

import json
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from wayword.cli import shell
from wayword.cli.options import Seed, stderr, stdout
from wayword.errors import WaywordError

CLICKS = 60_000
LISTS_SHOWN = 100_000
"""Defaults of `simulate`."""


def simulate(
    world: Annotated[str, typer.Argument(help="packages, debian, debian-pecos, debian-dense or xmc:PATH")],
    out: Annotated[Path, typer.Option(help="Folder for clicks, rankings, documents and truth (.parquet).")],
    clicks: Annotated[
        int | None, typer.Option(min=1, help="Number of clicks in the log. [default: 60000]")
    ] = None,
    seed: Seed = 0,
    clicks_only: Annotated[
        bool, typer.Option("--clicks-only", help="Leave out searches without a click.")
    ] = False,
    ranker: Annotated[
        str | None, typer.Option(help="xmc only: the engine, bm25 or pecos. [default: bm25]")
    ] = None,
    labels: Annotated[
        int | None,
        typer.Option(min=1, help="xmc only: keep this many of the most frequent labels. [default: 50000]"),
    ] = None,
    part: Annotated[
        float | None,
        typer.Option(
            metavar="PROBABILITY",
            help="Not for xmc: add a column `part`, known while typing: which part of the archive the person "
            "browses, right with this probability.",
        ),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(
            min=0, help="People look at rank k with probability proportional to k^-alpha. [default: 1]"
        ),
    ] = None,
    swaps: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="In this share of the searches two results of the first page change places; also write what each "
            "search showed (impressions.parquet).",
        ),
    ] = None,
    drift: Annotated[
        float | None,
        typer.Option(
            metavar="STRENGTH",
            help="What people want changes from day to day: the log has a column `time`, the popularity of a document "
            "takes a step of this size every day, such as 0.2, and new documents appear.",
        ),
    ] = None,
    days: Annotated[
        int | None, typer.Option(min=1, help="With --drift: number of days of the log. [default: 14]")
    ] = None,
    people: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="People who type and are shown lists: strict, lenient, meaning, hurried, everything or mix; with "
            "-once at the end they decide once about a suggestion.",
        ),
    ] = None,
    lists_shown: Annotated[
        int | None,
        typer.Option(
            min=1, help="With --people, instead of --clicks: number of lists shown. [default: 100000]"
        ),
    ] = None,
    lists: Annotated[
        Path | None,
        typer.Option(
            metavar="WORKSPACE",
            help="With --people: show the lists that this workspace serves. [default: most popular completion]",
        ),
    ] = None,
) -> None:
    """Simulate a click log in a world whose true utilities are known.

    Example: `wayword simulate packages --clicks 60000 --seed 0 --out data`

    With a context column besides the prefix: `wayword simulate packages --part 0.7 --out data`

    With impressions from which propensities can be estimated: `wayword simulate packages --swaps 0.3 --out data`

    Fourteen days in which what people want changes: `wayword simulate packages --drift 0.2 --out data`

    With people who type and take suggestions: `wayword simulate packages --people lenient --out data`

    The paper's data: `wayword simulate xmc:LF-AmazonTitles-1.3M --ranker pecos --clicks 3842425 --out data`
    """
    options: dict[str, Any] = {
        "out": out,
        "seed": seed,
        "clicks_only": clicks_only,
        "ranker": ranker,
        "labels": labels,
        "alpha": 1.0 if alpha is None else alpha,
    }
    if people is not None:
        _refuse(
            {"--clicks": clicks, "--part": part, "--swaps": swaps, "--drift": drift, "--days": days},
            "cannot be used with --people; leave it out",
        )
        shown = LISTS_SHOWN if lists_shown is None else lists_shown
        _simulate_people(world, people=people, lists_shown=shown, lists=lists, **options)
        return
    _refuse({"--lists-shown": lists_shown, "--lists": lists}, "needs --people KIND")
    if drift is None:
        _refuse({"--days": days}, "needs --drift STRENGTH")
    from wayword.pipeline import simulate as simulate_world
    from wayword.progress import Bars
    from wayword.simulation.simulate import DAYS, FACTS

    with Bars(stderr()).shown() as bars, bars.stage("simulate"):
        simulate_world(
            world,
            clicks=CLICKS if clicks is None else clicks,
            part=part,
            swaps=swaps,
            drift=drift,
            days=DAYS if days is None else days,
            progress=bars,
            **options,
        )
    facts = json.loads((out / FACTS).read_text(encoding="utf-8"))
    typer.echo(
        f"Wrote clicks, rankings, {'' if swaps is None else 'impressions, '}documents and truth to {out}. "
        f"{facts['click_rate']:.1%} of searches end in a click; "
        f"{facts['invisible_share']:.1%} of what people want is not on the page of their query, so no log shows it.",
        err=True,
    )


def _refuse(options: dict[str, Any], reason: str) -> None:
    """Raise `WaywordError` for an option that was given and does not apply."""
    for name, value in options.items():
        if value is not None:
            raise WaywordError(f"Found {name} {value}, which {reason}.")


def _simulate_people(world: str, *, out: Path, **options: Any) -> None:
    from wayword.pipeline import simulate_people
    from wayword.progress import Bars
    from wayword.simulation.people_log import LAW

    with Bars(stderr()).shown() as bars, bars.stage("simulate"):
        simulate_people(world, out=out, progress=bars, **options)
    counts = json.loads((out / LAW).read_text(encoding="utf-8"))
    sessions = counts["sessions"]
    typer.echo(
        f"Wrote clicks, completions, rankings, documents, truth and people to {out}. {counts['lists_shown']:,} lists "
        f"were shown in {sessions:,} typing sessions; {counts['taken'] / sessions:.1%} took a suggestion, "
        f"{counts['clicks'] / sessions:.1%} ended in a click.",
        err=True,
    )


def run(
    log: Annotated[
        str,
        typer.Option(
            metavar="PATH", help="Click log: Parquet, CSV or JSON Lines with query, document, rank."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The workspace: a new folder, or one of an earlier run.")],
    rankings: Annotated[
        str | None, typer.Option(metavar="PATH", help="Your engine's rankings: query, document, rank.")
    ] = None,
    documents: Annotated[
        Path | None,
        typer.Option(
            help="Document table (document, title, available): titles to show, what is in stock; ranked by BM25 "
            "without rankings."
        ),
    ] = None,
    queries: Annotated[
        Path | None,
        typer.Option(help="Further queries that may be suggested: a table with the column query."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="Settings (TOML); `wayword config` prints them all.")
    ] = None,
    judgments: Annotated[
        bool, typer.Option("--judgments", help="The log holds graded judgments: query, document, grade.")
    ] = False,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Drop all clicks that the rankings cannot explain.")
    ] = False,
    truth: Annotated[Path | None, typer.Option(help="A simulated world's truth: adds the ceiling.")] = None,
    completions: Annotated[
        Path | None,
        typer.Option(
            help="Lists shown (completions.parquet): taken suggestions count for what was intended."
        ),
    ] = None,
    impressions: Annotated[
        Path | None,
        typer.Option(
            help="What each search showed: search_id, query, document, rank, clicked; with [propensity] source "
            '= "log", p is estimated from it.'
        ),
    ] = None,
    first_rank: Annotated[
        int, typer.Option(min=0, max=1, help="The rank of the topmost result in the impressions.")
    ] = 1,
    paper: Annotated[
        bool, typer.Option("--paper", help="Train the paper's retriever and ranker too, and compare.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Only check the log and say whether it is worth it.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Go on although `wayword check` finds what makes results wrong.")
    ] = False,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="ENGINE",
            help="Run the tables on Spark: sc://HOST:PORT, or sail or spark to start one here. The log and the "
            "rankings may then be URLs of Parquet files. [default: DuckDB]",
        ),
    ] = None,
    engine_folder: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Folder of the engine's tables, which it and this machine both see."
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Stay within so much memory, such as 8GB. [default: no bound]"),
    ] = None,
) -> None:
    """Run every stage, from a click log to served completions. Unchanged stages are reused.

    Example: `wayword run --log clicks.parquet --rankings rankings.parquet --out workspace`

    What can be learned at most, before anything is: the same with `--check`. A run continues from there.
    """
    shell.collect_seldom()
    from wayword.cli.serve import print_withheld
    from wayword.index.versions import ROOT, current
    from wayword.pipeline import check as check_log
    from wayword.pipeline import run as run_pipeline
    from wayword.progress import Bars

    if check:
        _refuse(
            {"--judgments": judgments or None, "--completions": completions, "--engine": engine},
            "cannot be used with --check",
        )
        with Bars(stderr()).shown() as bars:
            worth = check_log(
                log,
                rankings,
                out=out,
                documents=documents,
                queries=queries,
                config=config,
                lenient=lenient,
                force=force,
                reporter=bars,
            )
        typer.echo(worth["sentence"])
        return
    with Bars(stderr()).shown() as bars:
        workspace = run_pipeline(
            log,
            rankings,
            out=out,
            documents=documents,
            config=config,
            judged=judgments,
            lenient=lenient,
            truth=truth,
            completions=completions,
            queries=queries,
            impressions=impressions,
            first_rank=first_rank,
            paper=paper,
            force=force,
            engine=engine,
            engine_folder=engine_folder,
            memory=memory,
            reporter=bars,
        )
    _print_mismatches(workspace.report("rankings"))
    if impressions is not None:
        _print_impressions(workspace.report("impressions"))
    _print_propensity(workspace.report("propensity"), known=impressions is not None)
    print_withheld(current(workspace.path / ROOT))
    place = shlex.quote(str(out))
    typer.echo(
        f"The workspace is {out}. Next: wayword evaluate {place}, or as a page: "
        f"wayword report {place} --out report.html. Over HTTP: wayword serve {place}",
        err=True,
    )


MISMATCHES = {
    "clicks on documents that no ranking contains": "were dropped: no ranking contains their documents",
    "clicks from queries without a ranking": "were dropped: their queries have no ranking",
    "mismatched clicks": "were logged at another rank than the rankings give; see `on_mismatch` in `wayword config`",
    "clicks from another form of their query with other results": "are from another form of their query "
    "(case, punctuation), whose result list was not taken",
    "clicks below the last rank that the rankings have for their query": "are below the last rank that the rankings "
    "have for their query",
}


def _print_mismatches(report: dict[str, Any]) -> None:
    """Print how many clicks the rankings do not explain."""
    explained = report["clicks explained by the rankings"]
    for count, meaning in MISMATCHES.items():
        if report.get(count):
            typer.echo(f"note: {report[count]:,} clicks {meaning} ({explained:,} clicks are used)", err=True)


def _print_impressions(report: dict[str, Any]) -> None:
    """Print how many impressions are used, and what was left out of them."""
    typer.echo(
        f"Impressions: {report['impressions']:,} of {report['searches']:,} searches, "
        f"{report['clicked impressions']:,} of them clicked; the log has {report['searches in the log']:,} of these.",
        err=True,
    )
    known = ("rows", "impressions", "searches", "clicked impressions", "searches in the log")
    for count, number in report.items():
        if number and count not in known:
            typer.echo(f"note: impressions: {number:,} {count}", err=True)


def _print_propensity(report: dict[str, Any], *, known: bool) -> None:
    """Print where p comes from; if it is assumed, only where it could be known from impressions."""
    if "summary" in report:
        typer.echo(report["summary"], err=True)
    elif known:
        typer.echo(
            f'Propensities are assumed: {report["law"]}. [propensity] source = "log" estimates them from impressions.',
            err=True,
        )
    for note in report.get("notes", ()):
        typer.echo(f"note: {note}", err=True)


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the data and the workspace.")] = Path("demo"),
    clicks: Annotated[int, typer.Option(min=1, help="How many clicks to simulate.")] = 60_000,
    seed: Seed = 0,
) -> None:
    """Simulate people searching for packages, learn from their clicks, and complete a few prefixes.

    Example: `wayword demo --out demo`
    """
    from wayword.cli.background_compilation import compiling

    with compiling():
        from wayword.cli.demo import run_demo

        run_demo(out, clicks=clicks, seed=seed, console=stdout(), errors=stderr())


def reproduce(
    out: Annotated[Path, typer.Option(help="Folder for the report, its figures and its tables.")],
    world: Annotated[
        str, typer.Option(help="debian, debian-pecos, debian-dense, packages or xmc:PATH")
    ] = "debian",
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="One experiment alone; may be repeated: core, paper, label-ablations, propensity-ablations, "
            "training-size, context, encoders, guardrails, theory, statistics."
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A tenth of the clicks and shorter training.")
    ] = False,
    clicks: Annotated[
        int | None,
        typer.Option(min=1, help="How many clicks. [default: 300000; packages 60000; xmc the paper's]"),
    ] = None,
    seed: Seed = 0,
    seeds: Annotated[
        int, typer.Option(min=1, max=100, help="Number of simulated logs; more than one shows the spread.")
    ] = 1,
    workspace: Annotated[
        Path | None, typer.Option(help="Folder for intermediate results. [default: OUT/workspace]")
    ] = None,
) -> None:
    """Run the paper's experiments on a simulated world and write a report that opens in a browser.

    Example: `wayword reproduce --quick --out reproduction`

    One experiment alone: `wayword reproduce --only label-ablations --out reproduction`
    """
    from wayword.paper.reproduce import reproduce as reproduce_paper
    from wayword.progress import Bars

    with Bars(stderr()).shown() as bars:
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
