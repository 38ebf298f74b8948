"""Stage `propensity`: the examination probability of every rank in the data."""

from pathlib import Path

import pyarrow as pa

from wayword.config import PropensityConfig
from wayword.engines import Engine, tables
from wayword.engines.tables import tables_in
from wayword.propensity.power_law import power_law
from wayword.store.stage import Folders, Report


def write(out: Path, at: Folders, config: PropensityConfig) -> Report:
    """Write `propensity`."""
    with tables_in(out) as engine:
        tables.fetch(engine, at["rankings"], "rankings", "numbered_clicks")
        build(engine, config)
        tables.save(engine, out, "propensity", "rank")
    return {"law": f"p[rank] = rank^-{config.alpha:g}"}


def build(engine: Engine, config: PropensityConfig) -> None:
    """Step `propensity` (rank, p, low, high) for rank 1 and every rank in the rankings and the clicks."""
    ranks = engine.arrow(
        """SELECT DISTINCT rank FROM (SELECT rank FROM rankings UNION ALL SELECT rank FROM numbered_clicks
                                     UNION ALL SELECT CAST(1 AS INTEGER) AS rank) AS ranks
           WHERE rank IS NOT NULL ORDER BY rank"""
    )["rank"]
    p = pa.array(power_law(ranks.to_numpy(), alpha=config.alpha))
    engine.load("propensity", pa.table({"rank": ranks, "p": p, "low": p, "high": p}))
