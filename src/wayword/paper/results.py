"""Lists → results: Utility@k, paired differences, the mean utility at each position and the share of the way to the
ceiling; saved as tables, read back, and shown."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from wayword.bootstrap import interval, resample
from wayword.completion.candidates import Candidates
from wayword.config import EvaluationConfig
from wayword.engines import tables
from wayword.engines.tables import tables_in
from wayword.errors import LogError
from wayword.evaluation.estimates import UTILITY, at_cutoffs, estimate
from wayword.evaluation.outcomes import Outcomes, outcomes
from wayword.paper import figures
from wayword.paper.figures import Series
from wayword.paper.report.exhibits import Cell, Column, Figure, Interval, Table
from wayword.paper.stages import CandidateSet
from wayword.store.stage import Folders
from wayword.utility import CUTOFFS, Measure

_SAME = ("logged", "random", "unbiased", "oracle", "ceiling", "biased", "prescient", "prescient@5")
NAMES = {
    **{name: name.capitalize() for name in _SAME},
    "prescient@1": "Prescient@1",
    "popular": "Most popular",
    "retriever": "PECOS",
    "misspecified@0.5": "Misspecified (0.5)",
    "misspecified@2": "Misspecified (2)",
}
"""The policies as the paper calls them."""
_STYLED = ("unbiased", "retriever", "random", "popular", "ceiling", "biased", "prescient", "prescient@5")
_SHARED = {"prescient@1": 3, "misspecified@0.5": 5, "misspecified@2": 6}
STYLES = {**{policy: style for style, policy in enumerate(_STYLED)}, **_SHARED}
"""A policy looks the same in every figure."""
Floats = NDArray[np.float64]
POSITIONS = (1, 2, 3, 4, 5)
"""Those of the paper's figures."""
SMALLEST = 0.0005
"""Rounds to 0 in three digits: an interval that is no further from 0 than this shows no difference."""


@dataclass(frozen=True)
class Results:
    """Utility of policies with intervals: by k, as paired differences, by position, and as share of the way from
    Random to the ceiling. `names` are those of the policies for people."""

    estimates: dict[tuple[str, int], Interval]
    differences: dict[tuple[str, str, int], Interval]
    positions: dict[tuple[str, int], Interval]
    ways: dict[tuple[str, int], Interval]
    searches: int
    names: Mapping[str, str]

    @classmethod
    def load(cls, folder: Path, names: Mapping[str, str] = NAMES) -> "Results":
        """Read the tables."""
        return cls(
            _read(folder, "estimates", "policy", "k"),
            _read(folder, "differences", "policy", "other", "k"),
            _read(folder, "positions", "policy", "position"),
            _read(folder, "ways", "policy", "k"),
            tables.read(folder, "estimates")["n"][0].as_py(),
            {**NAMES, **names},
        )

    def best_last(self, policies: Iterable[str]) -> list[str]:
        """The policies that were measured, by their utility at 1."""
        known = [name for name in policies if (name, 1) in self.estimates]
        return sorted(known, key=lambda name: self.estimates[name, 1].value)

    def exhibits(
        self,
        file: str,
        shown: Sequence[str],
        pairs: Iterable[tuple[str, str]],
        drawn: Sequence[str] | None = None,
        *,
        strong: str = "unbiased",
        bands: bool = False,
        styles: Mapping[str, int] = STYLES,
    ) -> tuple[Figure, Table, Figure, Table]:
        """Utility@1 of policies with intervals, Utility@k, the mean utility at each position, and paired differences.

        `bands` are for lines far apart: policies on the same searches vary together, and only their paired difference
        compares close ones."""
        rows = [(self.names[policy], self.estimates[policy, 1], policy == strong) for policy in shown]
        utility = "Utility@1 (logged query = 1)"
        return (
            figures.intervals(f"{file}_utility", rows, x_title=utility, reference=1.0),
            self._utilities(file, shown, strong),
            figures.chart(
                f"{file}_positions",
                [self._line(policy, strong, bands, styles) for policy in drawn or shown],
                x_title="Position in the list of completions",
                y_title="Mean utility (logged query = 1)",
                x_ticks=POSITIONS,
                reference={"Logged query": 1.0},
            ),
            self._pairs(f"{file}_differences", pairs),
        )

    def _line(self, policy: str, strong: str, bands: bool, styles: Mapping[str, int]) -> Series:
        drawn = {j: self.positions[policy, j] for j in POSITIONS if (policy, j) in self.positions}
        y, low, high = ([getattr(v, end) for v in drawn.values()] for end in ("value", "low", "high"))
        line = Series(self.names[policy], list(drawn), y, low, high, policy == strong, styles.get(policy))
        return line if bands else replace(line, low=None, high=None)

    def _utilities(self, name: str, policies: Sequence[str], strong: str) -> Table:
        """Utility@1/5/10 of each policy, and the share of the way from Random to the ceiling where it is known."""
        columns = [Column("Policy"), *(Column(f"Utility@{k}") for k in CUTOFFS)]
        columns += [Column(f"Way to ceiling @{k}", 2) for k in CUTOFFS if self.ways]
        rows: list[list[Cell]] = []
        for policy in policies:
            ways = [self.ways.get((policy, k)) for k in CUTOFFS if self.ways]
            values = [way.value if way else None for way in ways]
            rows.append([self.names[policy], *(self.estimates.get((policy, k)) for k in CUTOFFS), *values])
        return Table(name, columns, rows, frozenset({policies.index(strong)} if strong in policies else ()))

    def _pairs(self, name: str, wanted: Iterable[tuple[str, str]]) -> Table:
        """Paired differences, search by search over the same resamples."""
        names = (Column("Policy"), Column("minus"))
        columns = (*names, *(Column(f"Difference @{k}", sign=True) for k in CUTOFFS))
        gaps = {pair: [self.differences.get((*pair, k)) for k in CUTOFFS] for pair in wanted}
        return Table(name, columns, [(self.names[a], self.names[b], *gap) for (a, b), gap in gaps.items()])


def _read(folder: Path, name: str, *keys: str) -> dict[Any, Interval]:
    """The intervals of a table by its key columns; nothing if there is no such table."""
    rows = tables.read(folder, name).to_pylist() if (folder / f"{name}.parquet").exists() else []
    kept = [row for row in rows if row.get("metric", UTILITY) == UTILITY]
    return {tuple(r[key] for key in keys): Interval(r["value"], r["low"], r["high"]) for r in kept}


def verdict(difference: Interval) -> str:
    """Whether the first of two policies is better, as the paper found.

    >>> verdict(Interval(0.2, 0.1, 0.3)), verdict(Interval(0.2, -0.1, 0.5)), verdict(Interval(-1, -2, -0.1))
    ('as in the paper', 'not told apart', 'the other way round')
    """
    if difference.low >= SMALLEST:
        return "as in the paper"
    return "the other way round" if difference.high <= -SMALLEST else "not told apart"


def measure(out: Path, at: Folders, lists: dict[str, Candidates], tests: CandidateSet) -> Outcomes:
    """The utility of each test search of these contexts under each list."""
    with tables_in(out) as engine:
        tables.fetch(engine, at["rankings"], "rankings", "numbered_searches", "numbered_clicks")
        tables.fetch(engine, at["propensity"], "propensity")
        engine.load("asked", pa.table({"context": tests.contexts}))
        engine.load("all_instances", tables.read(at["contexts"], "instances"))
        engine.step(
            "instances", "SELECT i.* FROM all_instances AS i JOIN asked AS a ON a.context = i.context"
        )
        return outcomes(engine, lists, tests.candidates, tests.contexts, Measure("unbiased"))


def save(out: Path, outcome: Outcomes, config: EvaluationConfig, *, way: bool = True) -> dict[str, int]:
    """The tables `estimates`, `differences`, `positions`, and `ways` where there is one ceiling for all."""
    if not outcome.own.sum() > 0:
        raise LogError(
            f"Of {len(outcome.own):,} test searches none has a logged utility to compare with. Ask for more clicks."
        )
    found = dict(zip(("estimates", "differences"), estimate(outcome, config), strict=True))
    found["positions"] = at_positions(outcome, config)
    if way and {"random", "ceiling"} <= outcome.lists.keys():
        found["ways"] = ways(outcome, config)
    for name, table in found.items():
        pq.write_table(table, out / f"{name}.parquet")
    return {"test searches with a click": len(outcome.own)}


def at_positions(outcome: Outcomes, config: EvaluationConfig) -> pa.Table:
    """The mean utility of the query at each position, relative to the logged queries'."""
    keys = [(n, j) for n, u in outcome.lists.items() for j in range(min(len(POSITIONS), u.shape[1]))]
    values = np.column_stack([outcome.lists[name][:, j] for name, j in keys])
    ends = interval(resample(values, outcome.own, config), config.level)
    positions = pa.array([j + 1 for _, j in keys])
    return _table(keys, "position", positions, values.sum(axis=0) / outcome.own.sum(), ends)


def ways(outcome: Outcomes, config: EvaluationConfig) -> pa.Table:
    """(policy − random) / (ceiling − random) at each k: the share of the way that a policy gets."""
    columns = at_cutoffs(outcome)
    keys, values = list(columns), np.column_stack(list(columns.values()))
    ends = interval(_way(keys, resample(values, outcome.own, config)), config.level)
    sums = values.sum(axis=0, keepdims=True) / outcome.own.sum()
    return _table(keys, "k", pa.array([k for _, k in keys], pa.int32()), _way(keys, sums)[0], ends)


def _table(
    keys: list[tuple[str, int]], name: str, column: pa.Array, value: Floats, ends: tuple[Floats, Floats]
) -> pa.Table:
    policies = [policy for policy, _ in keys]
    return pa.table({"policy": policies, name: column, "value": value, "low": ends[0], "high": ends[1]})


def _way(keys: list[tuple[str, int]], values: Floats) -> Floats:
    start = values[:, [keys.index(("random", k)) for _, k in keys]]
    gap = values[:, [keys.index(("ceiling", k)) for _, k in keys]] - start
    return np.divide(values - start, gap, out=np.full_like(values, np.nan), where=gap != 0)


def compare(out: Path, at: Folders, config: EvaluationConfig, lists: dict[str, Candidates]) -> dict[str, int]:
    """Measure the lists of the test contexts and save the tables."""
    return save(out, measure(out, at, lists, CandidateSet.load(at["tests"])), config)
