"""Lists → results: Utility@k, paired differences, the mean utility at each position and the share of the way to the
ceiling; saved as tables, read back, and shown."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
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
from wayword.evaluation.estimates import at_cutoffs, estimate
from wayword.evaluation.outcomes import Outcomes, outcomes
from wayword.paper import figures
from wayword.paper.figures import Series
from wayword.paper.stages import LABELS, CandidateSet
from wayword.report.exhibits import Cell, Column, Figure, Interval, Table
from wayword.store.stage import Folders
from wayword.utility import CUTOFFS, Measure

NAMES = {
    **{name: name.capitalize() for name in ("logged", "random", "oracle", "ceiling", *LABELS)},
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
Key = tuple[str, int]
Columns = Mapping[Key, Floats]
Statistic = Callable[[list[Key], Floats], Floats]
POSITIONS = (1, 2, 3, 4, 5)
"""Those of the paper's figures."""
DIFFERENCES = [Column(f"Difference @{k}", sign=True) for k in CUTOFFS]
SMALLEST = 0.0005
"""Rounds to 0 in three digits: an interval that is no further from 0 than this shows no difference."""


@dataclass(frozen=True)
class Results:
    """Utility of policies with intervals: by k, as paired differences, by position, and as share of the way from
    Random to the ceiling. `names` are those of the policies for people."""

    estimates: dict[Key, Interval]
    differences: dict[tuple[str, str, int], Interval]
    positions: dict[Key, Interval]
    ways: dict[Key, Interval]
    searches: int
    names: Mapping[str, str]

    @classmethod
    def load(cls, folder: Path, names: Mapping[str, str] = NAMES) -> "Results":
        """Read the tables."""
        known = ("estimates", "differences", "positions", "ways")
        found: Any = {name: _read(folder, name) for name in known}
        searches = tables.read(folder, "estimates")["n"][0].as_py()
        return cls(**found, searches=searches, names={**NAMES, **names})

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
        gaps = [
            (self.names[a], self.names[b], *(self.differences.get((a, b, k)) for k in CUTOFFS))
            for a, b in pairs
        ]
        lines = []
        for policy in drawn or shown:
            line = {j: self.positions[policy, j] for j in POSITIONS if (policy, j) in self.positions}
            look: Any = {"strong": policy == strong, "style": styles.get(policy), "bands": bands}
            lines.append(Series.of(self.names[policy], line, **look))
        return (
            figures.intervals(f"{file}_utility", rows, x_title="Utility@1 (logged query = 1)", reference=1.0),
            self._utilities(file, shown, strong),
            figures.chart(
                f"{file}_positions",
                lines,
                x_title="Position in the list of completions",
                y_title="Mean utility (logged query = 1)",
                x_ticks=POSITIONS,
                reference={"Logged query": 1.0},
            ),
            Table(f"{file}_differences", ("Policy", "minus", *DIFFERENCES), gaps),
        )

    def _utilities(self, name: str, policies: Sequence[str], strong: str) -> Table:
        """Utility@1/5/10 of each policy, and the share of the way from Random to the ceiling where it is known."""
        ways = [Column(f"Way to ceiling @{k}", 2) for k in CUTOFFS if self.ways]
        rows: list[list[Cell]] = []
        for policy in policies:
            utilities = [self.estimates.get((policy, k)) for k in CUTOFFS]
            shares = [self.ways.get((policy, k)) for k in CUTOFFS if self.ways]
            rows.append(
                [self.names[policy], *utilities, *(share.value if share else None for share in shares)]
            )
        best = frozenset({policies.index(strong)} if strong in policies else ())
        return Table(name, ("Policy", *(f"Utility@{k}" for k in CUTOFFS), *ways), rows, best)


def _read(folder: Path, name: str) -> dict[Any, Interval]:
    """The intervals of a table by policies and number; nothing if there is no such table."""
    rows = tables.read(folder, name).to_pylist() if (folder / f"{name}.parquet").exists() else []
    keys = [tuple(row[key] for key in ("policy", "other", "k") if key in row) for row in rows]
    return {key: Interval(r["value"], r["low"], r["high"]) for key, r in zip(keys, rows, strict=True)}


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
        chosen = "SELECT i.* FROM all_instances AS i JOIN asked AS a ON a.context = i.context"
        engine.step("instances", chosen)
        return outcomes(engine, lists, tests.candidates, tests.contexts, Measure("unbiased"))


def save(out: Path, outcome: Outcomes, config: EvaluationConfig, *, way: bool = True) -> dict[str, int]:
    """The tables `estimates`, `differences`, `positions`, and `ways` where there is one ceiling for all."""
    own = outcome.own
    if not own.sum() > 0:
        raise LogError(
            f"Of {len(own):,} test searches none has a logged utility to compare with. Ask for more clicks."
        )
    found = dict(zip(("estimates", "differences"), estimate(outcome, config), strict=True))
    deepest = len(POSITIONS)
    listed = {(name, j): u for name, us in outcome.lists.items() for j, u in enumerate(us.T[:deepest], 1)}
    found["positions"] = _intervals(listed, own, config, lambda _, means: means)
    if way and {"random", "ceiling"} <= outcome.lists.keys():
        found["ways"] = _intervals(at_cutoffs(outcome), own, config, _way)
    for name, table in found.items():
        pq.write_table(table, out / f"{name}.parquet")
    return {"test searches with a click": len(own)}


def _intervals(columns: Columns, own: Floats, config: EvaluationConfig, of: Statistic) -> pa.Table:
    """A statistic of the mean utilities, relative to the logged queries', for each policy and number."""
    keys, values = list(columns), np.column_stack(list(columns.values()))
    low, high = interval(of(keys, resample(values, own, config)), config.level)
    value = of(keys, values.sum(axis=0, keepdims=True) / own.sum())[0]
    policies, numbers = zip(*keys, strict=True)
    return pa.table({"policy": policies, "k": numbers, "value": value, "low": low, "high": high})


def _way(keys: list[Key], means: Floats) -> Floats:
    """(policy − random) / (ceiling − random) at each k: the share of the way that a policy gets."""
    start, end = (means[:, [keys.index((name, k)) for _, k in keys]] for name in ("random", "ceiling"))
    return (means - start) / np.where(end != start, end - start, np.nan)
