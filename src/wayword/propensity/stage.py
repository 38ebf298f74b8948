"""Stage `propensity`: the examination probability of every rank in the data, assumed, given or estimated."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from wayword.config import PropensityConfig
from wayword.engines import Engine, tables
from wayword.engines.tables import tables_in
from wayword.propensity.given_table import GivenTable
from wayword.propensity.power_law import power_law
from wayword.propensity.rank_groups import spans
from wayword.propensity.strata import Impressions, Integers
from wayword.store.input_file import InputFile
from wayword.store.stage import Folders, Report

if TYPE_CHECKING:  # SciPy's optimizers take long to import
    from wayword.propensity.estimate import Estimate

ESTIMATE = "propensity.json"
"""How p was estimated: written with source "log"."""


def write(out: Path, at: Folders, config: PropensityConfig, given: InputFile | None = None) -> Report:
    """Write `propensity` (rank, p, low, high) for rank 1 and every rank in the data that the stage reads.

    `given` is the table of source "file". Source "log" reads the stage `impressions`.
    """
    with tables_in(out) as engine:
        tables.fetch(engine, at["rankings"], "rankings", "numbered_clicks")
        if given is not None:
            ranks, table = _ranks(engine), GivenTable.read(engine, given)
            p, report = table.at(ranks), _given_report(table, ranks, str(given))
        elif config.source == "log":
            from wayword.propensity.estimate import Options, check_falls, estimate

            tables.fetch(engine, at["impressions"], "impressions")
            ranks, options = _ranks(engine, "impressions"), Options(period=config.period)
            found = estimate(Impressions.of(engine, options.period), options)
            check_falls(found)
            tables.write_json(out / ESTIMATE, found.as_object())
            p, report = found.at(ranks), _estimate_report(found, ranks)
        else:
            p, report = _power(_ranks(engine), config.alpha), {"law": f"p[rank] = rank^-{config.alpha:g}"}
        engine.load("propensity", p)
        tables.save(engine, out, "propensity", "rank")
    return {"source": config.source, **report}


def build(engine: Engine, config: PropensityConfig) -> None:
    """Step `propensity` by the power law. Needs `rankings` and `numbered_clicks`."""
    engine.load("propensity", _power(_ranks(engine), config.alpha))


def _power(ranks: Integers, alpha: float) -> pa.Table:
    """The columns rank, p, low and high of a power law."""
    p = power_law(ranks, alpha=alpha)
    return pa.table({"rank": pa.array(ranks, pa.int32()), "p": p, "low": p, "high": p})


def _ranks(engine: Engine, *more: str) -> Integers:
    """Rank 1 and every rank in the rankings, the clicks and `more` tables."""
    every = " UNION ALL ".join(
        f"SELECT rank FROM {table}" for table in ("rankings", "numbered_clicks", *more)
    )
    rows = engine.arrow(
        f"""SELECT DISTINCT rank FROM ({every} UNION ALL SELECT CAST(1 AS INTEGER) AS rank) AS ranks
            WHERE rank IS NOT NULL ORDER BY rank"""
    )
    return np.asarray(rows["rank"].to_numpy(), np.int64)


def _estimate_report(found: "Estimate", ranks: Integers) -> dict[str, Any]:
    own = np.setdiff1d(found.ranks, found.by_law)
    summary = (
        f"Propensities are estimated from the impressions ({found.method}): {_points(found, ranks)}; "
        f"{found.law.formula} describes them. {_by_law(np.setdiff1d(ranks, own))}`wayword propensity` shows more."
    )
    return {"summary": summary, "method": found.method, "alpha": found.law.alpha, "notes": found.notes}


def _given_report(table: GivenTable, ranks: Integers, source: str) -> dict[str, Any]:
    notes = []
    between = np.setdiff1d(ranks[ranks < table.ranks[-1]], table.ranks)
    if len(between):
        notes.append(
            f"{source} lacks ranks {spans(between)}, at which the log has results; expected a row for each: they are "
            "interpolated until you add them."
        )
    if len(table.rises):
        notes.append(
            f"p rises in {source} to rank {spans(table.rises)}; expected less attention further down: correct it, "
            "unless the layout draws attention there."
        )
    summary = (
        f"Propensities are those of {source}: {_points(table, ranks)}; {table.law.formula} describes them. "
        f"{_by_law(ranks[ranks > table.ranks[-1]])}"
    )
    return {"summary": summary.strip(), "alpha": table.law.alpha, "notes": notes}


def _points(curve: "Estimate | GivenTable", ranks: Integers) -> str:
    """p at some ranks, with its interval.

    >>> _points(GivenTable.of(np.array([1, 2]), *[np.array([1, 0.5])] * 3), np.array([1, 2, 3]))
    'p[2] = 0.5'
    """
    rows = curve.at(np.intersect1d(np.intersect1d(ranks, curve.ranks), [2, 3, 5, 10])).to_pylist()
    return ", ".join(
        f"p[{row['rank']}] = {row['p']:.2g}"
        + (f" ({row['low']:.2g} to {row['high']:.2g})" if row["low"] < row["high"] else "")
        for row in rows
    )


def _by_law(ranks: Integers) -> str:
    return f"Ranks {spans(ranks)} have the law's p. " if len(ranks) else ""
