"""All checks of the paper's propositions and theorem from one seed, their saved form, and what the report shows."""

import json
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from wayword.errors import WaywordError
from wayword.paper import figures
from wayword.paper.figures import Series
from wayword.paper.stages import Task
from wayword.paper.theory import estimator, generalization
from wayword.paper.theory.estimator import KINDS, Bounding, Unbiasedness, Unbounded, Variance
from wayword.paper.theory.generalization import Generalization, Padding
from wayword.paper.theory.model import make_world
from wayword.report.exhibits import Cell, Column, Figure, Interval, Section, Table
from wayword.store.stage import Report

FILE = "theory.json"
SHOWN = 12
"""The number of rows of the table of variances."""
COLUMNS = {
    "unbiasedness": "context 0 context | logged 0 logged query | query 0 query | utility 4 utility | "
    "truth 4 of it visible | mean± 4 mean û | z 1 z | naive 4 uncorrected | clicks_only 4 clicks only",
    "variance": "context 0 context | logged 0 logged query | query 0 query | utility 4 E û | measured± 3 measured | "
    "exact 3 exact | bound 3 B·E û − (E û)² | share 2 measured / bound",
    "unbounded": "rank 0 r | ratio 1 B = p[1]/p[r] | measured± 3 measured variance | "
    "exact 3 exact: p[1]²/p[r] − p[1]² | bound 3 bound: B·u − u² | printed 3 as printed: p[1]²/p[r]² − p[1]²",
    "bounding": "kind 0 kind | bound 2 bound | bias 4 bias | variance 4 variance",
    "errors": "error 6 error at n = {0:,} | measured± 6 measured at n = {0:,}",
    "generalization": "searches 0 n | excess± 5 excess | utility_excess 5 excess in utility | "
    "perfect 2 logs that find the best | rademacher 4 Rₙ(F) | relevant 2 ρₙ | bound 3 bound of Theorem 1 | "
    "room 0 bound / excess | summed 3 bound, pair by pair | direct 4 bound, symmetrisation only",
    "padding": "candidates 0 K | excess 4 excess | bound 4 4·B·(ρ/K)²·R | "
    "mended 4 4·B·(2/K)·R, all pairs with the useful query",
}
"""The columns of each table: the field of the check (± with its interval), the digits, and the header."""
CHARTS = {
    "unbiasedness": "visible utility (exact) | mean over the logs | "
    "Estimated mean utility against the true visible utility of each query, on logarithmic scales.",
    "variance": "bound B·E û − (E û)² | variance of û in one search | "
    "Measured variance of û against the bound B·E û − (E û)², on logarithmic scales.",
    "unbounded": "rank in the logged query | variance of û in one search | "
    "Variance of û by the rank of the shared document in the logged query, on logarithmic scales.",
    "bounding": "max_ratio | mean squared error, unbounded = 1 | "
    "Mean squared error of bounded û relative to unbounded û, by max_ratio, for two sizes of log.",
    "generalization": "searches in the log, n | gain lost against the best in class | "
    "Excess of the learned ranker and its bounds by the number of searches, on logarithmic scales.",
}
"""The titles of the axes of each figure, and its description."""
TICKS = (0.25, 0.5, 1, 2, 4, 8, 16)
LINES = {
    "unbiasedness": "truth | mean± û over all searches | clicks_only clicks only | naive uncorrected",
    "variance": "bound | measured measured variance",
    "unbounded": "rank | printed as printed in the proof | exact exact, and B·u − u² | measured± measured",
    "generalization": "searches | bound bound of Theorem 1 | direct symmetrisation only | excess± measured excess",
}
"""The lines or points of each figure: the field on its x axis, then the fields on the y axis with their labels."""
MEASURED = ("mean±", "measured", "measured±", "excess±")
"""The fields that stand out."""
Columns = dict[Column, list[Cell]]


@dataclass(frozen=True)
class Theory:
    """The result of `theory`; `effort` scales how often is simulated."""

    seed: int
    effort: float
    unbiasedness: Unbiasedness
    variance: Variance
    unbounded: Unbounded
    bounding: Bounding
    generalization: Generalization
    padding: Padding


CHECKS: dict[str, Any] = {field.name: field.type for field in fields(Theory)[2:]}


def theory(seed: int, *, effort: float = 1.0) -> Theory:
    """Run every check; each simulates at least 30 times."""
    if not 0 < effort < np.inf:
        raise WaywordError(f"Found an effort of {effort}; expected a number above 0, such as 1.")
    worlds, *parts = np.random.default_rng(seed).spawn(6)
    world = make_world(worlds)
    large = make_world(worlds, contexts=24, queries=10)
    features = generalization.make_features(worlds, large)
    sizes = (1000, 2000, 4000, 2_000_000)
    hundreds, thousands, draws, millions = (max(30, round(n * effort)) for n in sizes)
    return Theory(
        seed,
        effort,
        estimator.unbiasedness(parts[0], world, logs=thousands, searches=2000),
        estimator.variance(parts[1], world, searches=millions),
        estimator.unbounded(parts[2], searches=millions),
        estimator.bounding(parts[3], world, logs=hundreds),
        generalization.generalization(parts[4], large, features, logs=thousands, draws=draws),
        generalization.padding(),
    )


def save(theory: Theory, folder: Path) -> None:
    """Write a theory into a folder."""
    text = json.dumps(asdict(theory), default=np.ndarray.tolist)
    (folder / FILE).write_text(text, encoding="utf-8")


def load(folder: Path) -> Theory:
    """Read the output of `save`, bit for bit."""
    read = json.loads((folder / FILE).read_text(encoding="utf-8"))
    for name, check in CHECKS.items():
        read[name] = check(**{k: np.array(v) if isinstance(v, list) else v for k, v in read[name].items()})
    return Theory(**read)


def measure(task: Task) -> Report:
    """Fill the folder with all checks."""
    save(theory(task.preset.seed, effort=task.preset.effort), task.out)
    return {}


def section(folder: Path) -> Section:
    """All checks of a saved theory."""
    return section_of(load(folder))


def section_of(t: Theory) -> Section:
    """All checks of a theory."""
    above = np.flatnonzero(t.padding.excess > t.padding.bound)
    top = np.argsort(-t.variance.exact, kind="stable")[:SHOWN]
    exhibits = (
        _chart("unbiasedness", _lines("unbiasedness", t.unbiasedness, joined=False), diagonal=True),
        _chart("variance", _lines("variance", t.variance, joined=False), diagonal=True),
        _chart("unbounded", _lines("unbounded", t.unbounded), x_ticks=t.unbounded.rank.tolist()),
        _chart("bounding", _errors(t.bounding), x_ticks=TICKS, reference={"unbounded": 1.0}),
        _chart("generalization", _lines("generalization", t.generalization)),
        _table("unbiasedness", _columns("unbiasedness", t.unbiasedness)),
        _table("variance", _columns("variance", t.variance, top)),
        _table("unbounded", _columns("unbounded", t.unbounded)),
        _bounds(t.bounding),
        _table("generalization", _columns("generalization", t.generalization)),
        _table("padding", _columns("padding", t.padding), above),
    )
    values = {"t": t, "broken": t.padding.candidates[above].tolist(), "shown": SHOWN}
    return Section("theory", exhibits, values)


def _columns(check: str, found: Any, rows: Any = slice(None)) -> Columns:
    """The columns of some rows of a check."""
    columns: Columns = {}
    for field, digits, header in (part.split(" ", 2) for part in COLUMNS[check].split(" | ")):
        values = getattr(found, field.rstrip("±"))[rows].tolist()
        if field.endswith("±"):
            ends = (found.low[rows].tolist(), found.high[rows].tolist())
            values = [Interval(*each) for each in zip(values, *ends, strict=True)]
        columns[Column(header, int(digits), sign=field == "z")] = values
    return columns


def _table(check: str, columns: Columns, strong: Any = ()) -> Table:
    rows = tuple(zip(*columns.values(), strict=True))
    return Table(f"theory-{check}", tuple(columns), rows, frozenset(map(int, strong)))


def _bounds(found: Bounding) -> Table:
    """Both kinds of bounds, with the errors of each number of searches side by side."""
    each = {n: np.flatnonzero(found.searches == n) for n in np.unique(found.searches)}
    columns = _columns("bounding", found, next(iter(each.values())))
    for n, of in each.items():
        errors = _columns("errors", found, of).items()
        columns |= {replace(column, name=column.name.format(n)): cells for column, cells in errors}
    best = {place for of in each.values() for place in np.flatnonzero(found.best[of])}
    return _table("bounding", columns, best)


def _chart(check: str, series: list[Series], **options: Any) -> Figure:
    titles: Any = dict(zip(("x_title", "y_title", "description"), CHARTS[check].split(" | "), strict=True))
    return figures.chart(f"theory-{check}", series, x_log=True, y_log=True, **titles, **options)


def _lines(check: str, found: Any, *, joined: bool = True) -> list[Series]:
    """The lines of a figure, or its points, those that were measured standing out."""
    x, *lines = LINES[check].split(" | ")
    series = []
    for field, label in (line.split(" ", 1) for line in lines):
        low, high = (found.low.tolist(), found.high.tolist()) if field.endswith("±") else (None, None)
        xs, ys = (getattr(found, name.rstrip("±")).tolist() for name in (x, field))
        series.append(Series(label, xs, ys, low, high, field in MEASURED, joined=joined))
    return series


def _errors(found: Bounding) -> list[Series]:
    """The error of bounded û relative to that of û, by the bound on the ratio."""
    series: list[Series] = []
    for n in np.unique(found.searches):
        rows = (found.searches == n) & (found.kind == KINDS[0])
        errors = (found.error, found.low, found.high)
        y, low, high = ((of[rows] / found.error[rows][-1]).tolist() for of in errors)
        series.append(Series(f"{n:,} searches", found.bound[rows].tolist(), y, low, high, strong=not series))
    return series
