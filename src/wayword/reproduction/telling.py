"""How results are told: the names of policies for people, tables and figures that several experiments share, and
whether an order that the paper found is there."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wayword.engines import tables
from wayword.evaluation.estimates import UTILITY
from wayword.reproduction import measures
from wayword.reproduction.figures import Series, intervals, lines
from wayword.reproduction.report.exhibits import Cell, Column, Figure, Interval, Table
from wayword.reproduction.report.numerals import number
from wayword.utility import CUTOFFS

NAMES = {
    "logged": "Logged",
    "random": "Random",
    "popular": "Most popular",
    "retriever": "PECOS",
    "unbiased": "Unbiased",
    "oracle": "Oracle",
    "ceiling": "Ceiling",
    "biased": "Biased",
    "prescient": "Prescient",
    "prescient@5": "Prescient@5",
    "prescient@1": "Prescient@1",
    "misspecified@0.5": "Misspecified (0.5)",
    "misspecified@2": "Misspecified (2)",
}


POSITIONS = tuple(range(1, measures.POSITIONS + 1))
"""Those that figures show."""
STYLES = {
    "unbiased": 0,
    "retriever": 1,
    "random": 2,
    "popular": 3,
    "ceiling": 4,
    "biased": 5,
    "prescient": 6,
    "prescient@5": 7,
    "prescient@1": 3,
    "misspecified@0.5": 5,
    "misspecified@2": 6,
}
"""A policy looks the same in every figure."""


def named(policy: str, names: Mapping[str, str] = NAMES) -> str:
    """A policy as the paper calls it."""
    return names.get(policy, NAMES.get(policy, policy))


@dataclass(frozen=True)
class Results:
    """The tables that `measures.save` wrote."""

    estimates: dict[tuple[str, int], Interval]
    differences: dict[tuple[str, str, int], Interval]
    positions: dict[tuple[str, int], Interval]
    ways: dict[tuple[str, int], Interval]
    searches: int

    @classmethod
    def load(cls, folder: Path) -> "Results":
        """Read them."""
        estimates = [row for row in _rows(folder, "estimates") if row["metric"] == UTILITY]
        return cls(
            {(r["policy"], r["k"]): _interval(r) for r in estimates},
            {(r["policy"], r["other"], r["k"]): _interval(r) for r in _rows(folder, "differences")},
            {(r["policy"], r["position"]): _interval(r) for r in _rows(folder, "positions")},
            {(r["policy"], r["k"]): _interval(r) for r in _rows(folder, "ways")},
            int(estimates[0]["n"]) if estimates else 0,
        )

    def best_last(self, policies: Iterable[str]) -> list[str]:
        """The policies that were measured, by their utility at 1."""
        known = [name for name in policies if (name, 1) in self.estimates]
        return sorted(known, key=lambda name: self.estimates[name, 1].value)


def _rows(folder: Path, name: str) -> list[dict[str, Any]]:
    return tables.read(folder, name).to_pylist() if (folder / f"{name}.parquet").exists() else []


def _interval(row: dict[str, Any]) -> Interval:
    return Interval(row["value"], row["low"], row["high"])


def utilities(
    name: str,
    title: str,
    results: Results,
    policies: Sequence[str],
    *,
    note: str = "",
    names: Mapping[str, str] = NAMES,
    strong: str = "unbiased",
) -> Table:
    """Utility@1/5/10 of each policy, and the share of the way from Random to the ceiling where it is known."""
    way = bool(results.ways)
    columns = [Column("Policy"), *(Column(f"Utility@{k}") for k in CUTOFFS)]
    columns += [Column(f"Way to ceiling @{k}", digits=2) for k in CUTOFFS if way]
    rows: list[tuple[Cell, ...]] = []
    for policy in policies:
        cells: list[Cell] = [named(policy, names), *(results.estimates.get((policy, k)) for k in CUTOFFS)]
        cells += [_value(results.ways.get((policy, k))) for k in CUTOFFS if way]
        rows.append(tuple(cells))
    bold = frozenset(i for i, policy in enumerate(policies) if policy == strong)
    return Table(name, title, tuple(columns), tuple(rows), note, bold)


def _value(found: Interval | None) -> float | None:
    return found.value if found else None


def pairs(
    name: str,
    title: str,
    results: Results,
    wanted: Iterable[tuple[str, str]],
    *,
    note: str = "",
    names: Mapping[str, str] = NAMES,
) -> Table:
    """Paired differences, search by search over the same resamples."""
    columns = (
        Column("Policy"),
        Column("minus"),
        *(Column(f"Difference @{k}", sign=True) for k in CUTOFFS),
    )
    rows = tuple(
        (named(a, names), named(b, names), *(results.differences.get((a, b, k)) for k in CUTOFFS))
        for a, b in wanted
    )
    return Table(name, title, columns, rows, note)


def by_position(
    name: str,
    title: str,
    conclusion: str,
    results: Results,
    policies: Sequence[str],
    *,
    names: Mapping[str, str] = NAMES,
    strong: str = "unbiased",
    bands: bool = True,
    styles: Mapping[str, int] = STYLES,
) -> Figure:
    """The paper's figures: the mean utility of the query at positions 1 to 5, with intervals unless lines are close:
    those of policies on the same searches move together, and only their paired difference tells them apart."""
    known = all(policy in styles for policy in policies)
    series = []
    for policy in policies:
        found = [(j, results.positions[policy, j]) for j in POSITIONS if (policy, j) in results.positions]
        series.append(
            Series(
                named(policy, names),
                [j for j, _ in found],
                [v.value for _, v in found],
                [v.low for _, v in found] if bands else None,
                [v.high for _, v in found] if bands else None,
                strong=policy == strong,
                style=styles[policy] if known else None,
            )
        )
    description = "; ".join(f"{s.name}: {', '.join(f'{y:.3f}' for y in s.y)}" for s in series)
    svg = lines(
        name,
        series,
        x_title="Position in the list of completions",
        y_title="Mean utility (logged query = 1)",
        x_ticks=list(POSITIONS),
        reference={"Logged query": 1.0},
        description=description,
    )
    return Figure(name, title, conclusion, svg, description)


def ranged(
    name: str,
    title: str,
    conclusion: str,
    results: Results,
    policies: Sequence[str],
    *,
    k: int = 1,
    names: Mapping[str, str] = NAMES,
    strong: str = "unbiased",
) -> Figure:
    """Utility@k of policies with their intervals."""
    rows = [
        (named(policy, names), results.estimates[policy, k], policy == strong)
        for policy in policies
        if (policy, k) in results.estimates
    ]
    description = "; ".join(f"{label}: {found.value:.3f}" for label, found, _ in rows)
    svg = intervals(
        name, rows, x_title=f"Utility@{k} (logged query = 1)", reference=1.0, description=description
    )
    return Figure(name, title, conclusion, svg, description)


SMALLEST = 0.0005
"""What three digits show as 0: an interval that is no further from 0 than this does not tell two policies apart."""


def told_apart(difference: Interval) -> int:
    """1 if the first of two policies is better, −1 if it is worse, 0 if the interval does not tell.

    >>> told_apart(Interval(0.2, 0.1, 0.3)), told_apart(Interval(0.2, -0.1, 0.5)), told_apart(Interval(-1, -2, -0.1))
    (1, 0, -1)
    """
    return int(difference.low >= SMALLEST) - int(difference.high <= -SMALLEST)


def verdict(difference: Interval | None) -> str:
    """Whether the first of two policies is better, as the paper found."""
    if difference is None:
        return "not measured"
    return {1: "as in the paper", 0: "not told apart", -1: "the other way round"}[told_apart(difference)]


def compared(difference: Interval) -> str:
    """The first of two policies against the second, in words."""
    return {1: "better than", 0: "not told apart from", -1: "worse than"}[told_apart(difference)]


def over_positions(results: Results, policies: Sequence[str], *, names: Mapping[str, str] = NAMES) -> str:
    """Who is best and worst at the first and at the last position that is drawn."""
    told = []
    for position in (POSITIONS[0], POSITIONS[-1]):
        found = {policy: results.positions[policy, position].value for policy in policies}
        best, worst = max(found, key=lambda p: found[p]), min(found, key=lambda p: found[p])
        told.append(
            f"at position {position} {named(best, names)} is highest ({found[best]:.3f}) and {named(worst, names)} "
            f"lowest ({found[worst]:.3f})"
        )
    sentence = "; ".join(told)
    return f"{sentence[0].upper()}{sentence[1:]}."


def amount(found: Interval, *, sign: bool = False) -> str:
    """A value with its interval, for a sentence."""
    value, low, high = (number(x, sign=sign) for x in (found.value, found.low, found.high))
    return f"{value} ({low} to {high})"
