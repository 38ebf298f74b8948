"""Stage `propensity`: the examination probability of every rank in the data."""

from pathlib import Path

from wayword.config import PropensityConfig
from wayword.engines import tables
from wayword.engines.tables import tables_in
from wayword.propensity import power_law as propensity
from wayword.store.stage import Folders, Report


def write(out: Path, at: Folders, config: PropensityConfig) -> Report:
    """Write `propensity`."""
    with tables_in(out) as engine:
        tables.fetch(engine, at["rankings"], "rankings", "numbered_clicks")
        propensity.build(engine, config)
        tables.save(engine, out, "propensity", "rank")
    return {"law": f"p[rank] = rank^-{config.alpha:g}"}
