"""The checks of the theory as figures and tables of the report."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from wayword.paper import figures
from wayword.paper.figures import Series
from wayword.paper.presets import Preset
from wayword.paper.report.exhibits import Cell, Column, Figure, Interval, Section, Table
from wayword.paper.theory.estimator import KINDS, Bounding, Unbiasedness, Unbounded, Variance
from wayword.paper.theory.generalization import Generalization
from wayword.paper.theory.theory import Theory, load, save, theory
from wayword.progress import Progress
from wayword.store.stage import Folders, Report

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
Columns = dict[Column, list[Cell]]
_points = partial(Series, joined=False)


def measure(out: Path, _: Folders, chosen: Preset, __: Progress) -> Report:
    """Fill `out` with all checks."""
    save(theory(chosen.seed, effort=chosen.effort), out)
    return {"effort": chosen.effort}


def section(folder: Path) -> Section:
    """All checks of a saved theory."""
    return section_of(load(folder))


def section_of(t: Theory) -> Section:
    """All checks of a theory."""
    above = np.flatnonzero(t.padding.excess > t.padding.bound)
    estimator = (_unbiasedness(t.unbiasedness), _variance(t.variance), _unbounded(t.unbounded))
    drawn = (*estimator, _bounding(t.bounding), _generalization(t.generalization))
    top = np.argsort(-t.variance.exact, kind="stable")[:SHOWN]
    plain = {name: getattr(t, name) for name in ("unbiasedness", "unbounded", "generalization")}
    tables = (
        *(_table(name, _columns(name, check)) for name, check in plain.items()),
        _table("variance", _columns("variance", t.variance, top)),
        _bounds(t.bounding),
        _table("padding", _columns("padding", t.padding), above),
    )
    values = {"t": t, "broken": t.padding.candidates[above].tolist(), "shown": SHOWN}
    return Section("theory", (*drawn, *tables), values)


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


def _unbiasedness(found: Unbiasedness) -> Figure:
    """Three means against the truth."""
    fields = ("truth", "mean", "low", "high", "clicks_only", "naive")
    x, mean, low, high, clicks, naive = (getattr(found, field).tolist() for field in fields)
    points = [_points("clicks only", x, clicks), _points("uncorrected", x, naive)]
    means = _points("û over all searches", x, mean, low, high, strong=True)
    return _chart("unbiasedness", [means, *points], diagonal=True)


def _variance(found: Variance) -> Figure:
    """Measured variances against their bound."""
    measured = _points("measured variance", found.bound.tolist(), found.measured.tolist(), strong=True)
    return _chart("variance", [measured], diagonal=True)


def _unbounded(found: Unbounded) -> Figure:
    """The example of Proposition 2: variance by the logged rank."""
    x, low, high = found.rank.tolist(), found.low.tolist(), found.high.tolist()
    printed = Series("as printed in the proof", x, found.printed.tolist())
    exact = Series("exact, and B·u − u²", x, found.exact.tolist())
    measured = Series("measured", x, found.measured.tolist(), low, high, strong=True)
    return _chart("unbounded", [printed, exact, measured], x_ticks=x)


def _bounding(found: Bounding) -> Figure:
    """The error of bounded û relative to that of û, by the bound on the ratio."""
    series: list[Series] = []
    for n in np.unique(found.searches):
        rows = (found.searches == n) & (found.kind == KINDS[0])
        errors = (found.error, found.low, found.high)
        y, low, high = ((of[rows] / found.error[rows][-1]).tolist() for of in errors)
        series.append(Series(f"{n:,} searches", found.bound[rows].tolist(), y, low, high, strong=not series))
    ticks = (0.25, 0.5, 1, 2, 4, 8, 16)
    return _chart("bounding", series, x_ticks=ticks, reference={"unbounded": 1.0})


def _generalization(found: Generalization) -> Figure:
    """Excess and bounds by the number of searches."""
    x, low, high = found.searches.tolist(), found.low.tolist(), found.high.tolist()
    bound = Series("bound of Theorem 1", x, found.bound.tolist())
    direct = Series("symmetrisation only", x, found.direct.tolist())
    excess = Series("measured excess", x, found.excess.tolist(), low, high, strong=True)
    return _chart("generalization", [bound, direct, excess])
