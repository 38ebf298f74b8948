"""The commands that estimate propensities from impressions."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperGroup

from wayword.cli import shell
from wayword.cli.options import stderr, stdout
from wayword.request import check_choice

if TYPE_CHECKING:
    from wayword.propensity.strata import Impressions, Period

METHODS = ("likelihood", "chain", "all-pairs", "em")
PERIODS = ("none", "day", "week", "month")


class _EstimateByDefault(TyperGroup):
    """`wayword propensity FILE` is `wayword propensity estimate FILE`."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        if args and args[0] not in {*self.commands, "-h", "--help"}:
            args = ["estimate", *args]
        return super().parse_args(ctx, args)


ImpressionsPath = Annotated[
    Path,
    typer.Argument(
        metavar="IMPRESSIONS",
        help="What searches showed: Parquet, CSV, TSV or JSON Lines with search_id, query, document, rank, clicked; "
        "optional time, swap.",
    ),
]
PeriodOption = Annotated[
    str,
    typer.Option(
        "--period",
        help="Ranks are compared within a day, week or month, or (none) over all; a shorter one assumes less.",
    ),
]
FirstRank = Annotated[int, typer.Option(min=0, max=1, help="The rank of the first result in the file.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]

propensity = typer.Typer(cls=_EstimateByDefault, no_args_is_help=True)


@propensity.callback()
def family() -> None:
    """Estimate from impressions how likely a result at each rank is looked at.

    Example: `wayword propensity impressions.parquet --out propensity.parquet`

    Can this log tell? Which ranks to swap, and how long: `wayword propensity plan impressions.parquet`

    All methods beside each other: `wayword propensity compare impressions.parquet --figure curves.svg`

    `wayword propensity estimate --help` has the options. docs/propensity.md explains the methods and what they assume.
    """


def _read(path: Path, period: str, first_rank: int) -> "tuple[Impressions, dict[str, int]]":
    from wayword.progress import Bars
    from wayword.propensity import impressions_file

    check_choice("--period", period, PERIODS)
    known: Period = period  # type: ignore[assignment]
    with Bars(stderr()).shown() as bars, bars.stage("impressions"):
        return impressions_file.read(path, period=known, first_rank=first_rank)


@propensity.command()
def estimate(
    impressions: ImpressionsPath,
    method: Annotated[
        str, typer.Option(help="likelihood, or for comparison chain, all-pairs or em (regression EM).")
    ] = "likelihood",
    period: PeriodOption = "week",
    monotone: Annotated[
        bool, typer.Option("--monotone", help="Assume that p never rises with the rank (likelihood).")
    ] = False,
    trust_bias: Annotated[
        bool,
        typer.Option(
            "--trust-bias", help="People also click what is not relevant where it stands high (em)."
        ),
    ] = False,
    first_rank: FirstRank = 1,
    as_json: AsJson = False,
    out: Annotated[Path | None, typer.Option(help="Write rank, p, low, high here (Parquet).")] = None,
) -> None:
    """Estimate propensities: `wayword propensity IMPRESSIONS` is short for this.

    Example: `wayword propensity impressions.parquet --out propensity.parquet`
    """
    import pyarrow.parquet as pq

    from wayword.propensity.estimate import Options, check_falls
    from wayword.propensity.estimate import estimate as estimated
    from wayword.report.propensity import print_estimate

    check_choice("--method", method, METHODS)
    options = Options(method, period, monotone, trust_bias)  # type: ignore[arg-type]
    data, counts = _read(impressions, period, first_rank)
    found = estimated(data, options)
    check_falls(found)
    if as_json:
        shell.write(json.dumps({**found.as_object(), "counts": counts}, indent=1, ensure_ascii=False))
    else:
        print_estimate(found, counts, stdout())
    if out is not None:
        pq.write_table(found.table(), out)
        typer.echo(f"The propensities are in {out}.", err=True)


@propensity.command()
def compare(
    impressions: ImpressionsPath,
    figure: Annotated[
        Path | None, typer.Option(help="Draw all curves here (SVG, PDF or PNG; needs the extra `report`).")
    ] = None,
    period: PeriodOption = "week",
    first_rank: FirstRank = 1,
    as_json: AsJson = False,
) -> None:
    """Fit all methods, score them on searches held out, and recommend one with reasons.

    Example: `wayword propensity compare impressions.parquet --figure curves.svg`
    """
    from wayword.propensity.comparison import LIKELIHOOD
    from wayword.propensity.comparison import compare as compared
    from wayword.report.propensity import print_comparison
    from wayword.report.propensity_figure import draw_curves

    data, _ = _read(impressions, period, first_rank)
    found = compared(data, period)  # type: ignore[arg-type]
    if as_json:
        shell.write(json.dumps(found.as_object(), indent=1, ensure_ascii=False))
    else:
        print_comparison(found, stdout())
    if figure is not None:
        strong = found.recommended if found.recommended in found.estimates else LIKELIHOOD
        draw_curves(found.estimates, figure, strong=strong)
        typer.echo(f"The curves are in {figure}.", err=True)


@propensity.command()
def plan(
    impressions: ImpressionsPath,
    precision: Annotated[
        float, typer.Option(min=0.001, max=10, help="Wanted half-width of the interval of p, relative to p.")
    ] = 0.1,
    share: Annotated[
        float, typer.Option(min=0.0001, max=1, help="Share of the traffic for the experiment.")
    ] = 0.05,
    alpha: Annotated[
        float, typer.Option(min=0, max=10, help="The power law that is assumed for the calculation.")
    ] = 1.0,
    period: PeriodOption = "week",
    first_rank: FirstRank = 1,
    as_json: AsJson = False,
) -> None:
    """Say which ranks to swap, for which share of the traffic and how long, where this log cannot tell them apart.

    Example: `wayword propensity plan impressions.parquet --precision 0.2 --share 0.02`
    """
    from wayword.propensity.swap_plan import Wanted
    from wayword.propensity.swap_plan import plan as planned
    from wayword.report.propensity import print_plan

    data, _ = _read(impressions, period, first_rank)
    found = planned(data, Wanted(precision, share, alpha))
    if as_json:
        shell.write(json.dumps(found.as_object(), indent=1))
    else:
        print_plan(found, stdout())
