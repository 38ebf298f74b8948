"""Lists → tables: Utility@k, the mean utility at each position, and how far of the way to the ceiling a policy gets."""

from pathlib import Path

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
from wayword.evaluation.estimates import (
    Outcomes,
    at_cutoffs,
    estimate,
    outcomes,
)
from wayword.reproduction.material import Material
from wayword.store.stage import Folders
from wayword.utility import Measure

POSITIONS = 5
"""The paper's figures show the first five positions."""


def measure(out: Path, at: Folders, lists: dict[str, Candidates], tests: Material) -> Outcomes:
    """What happened to each test search of these contexts under each list."""
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
    keys = [(n, j) for n, u in outcome.lists.items() for j in range(min(POSITIONS, u.shape[1]))]
    values = np.column_stack([outcome.lists[name][:, j] for name, j in keys])
    low, high = interval(resample(values, outcome.own, config), config.level)
    return pa.table(
        {
            "policy": [name for name, _ in keys],
            "position": [j + 1 for _, j in keys],
            "value": values.sum(axis=0) / outcome.own.sum(),
            "low": low,
            "high": high,
        }
    )


def ways(outcome: Outcomes, config: EvaluationConfig) -> pa.Table:
    """(policy − random) / (ceiling − random) at each k: the share of the way that a policy gets."""
    columns = at_cutoffs(outcome)
    keys = list(columns)
    values = np.column_stack(list(columns.values()))
    replicates = resample(values, outcome.own, config)
    sums = values.sum(axis=0, keepdims=True) / outcome.own.sum()
    value, (low, high) = _way(keys, sums)[0], interval(_way(keys, replicates), config.level)
    return pa.table(
        {
            "policy": [name for name, _ in keys],
            "k": pa.array([k for _, k in keys], pa.int32()),
            "value": value,
            "low": low,
            "high": high,
        }
    )


def _way(keys: list[tuple[str, int]], values: NDArray[np.float64]) -> NDArray[np.float64]:
    start = values[:, [keys.index(("random", k)) for _, k in keys]]
    end = values[:, [keys.index(("ceiling", k)) for _, k in keys]]
    gap = end - start
    return np.divide(values - start, gap, out=np.full_like(values, np.nan), where=gap != 0)


def compare(out: Path, at: Folders, config: EvaluationConfig, lists: dict[str, Candidates]) -> dict[str, int]:
    """Measure the lists of the test contexts and save the tables."""
    return save(out, measure(out, at, lists, Material.load(at["tests"])), config)
