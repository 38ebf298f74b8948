"""A given table of propensities: rank, p, and optionally the interval from low to high."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy.special import ndtri

from wayword.engines import Engine
from wayword.errors import LogError
from wayword.logs import checks, column_types
from wayword.logs.checks import Check
from wayword.logs.columns import as_text
from wayword.propensity.power_law import FittedLaw, fitted_law
from wayword.propensity.strata import Floats, Integers
from wayword.store.input_file import InputFile

LEVEL = 0.95
"""The coverage that an interval from low to high is taken to have."""
_INTERVAL = ("low", "high")
_CHECKS = (
    Check(
        "a rank that is not a whole number from 1 up",
        "the position of a result, from 1",
        "(SELECT input_row, rank_text, rank FROM given)",
        "rank IS NULL OR NOT (rank >= 1 AND rank < 2147483648) OR rank <> floor(rank)",
    ),
    Check(
        "a rank with two values of p",
        "one row per rank",
        "(SELECT rank, min(p) AS one, max(p) AS another, count(*) AS times FROM given GROUP BY rank)",
        "times > 1",
    ),
    Check(
        "a p that is not a finite number above 0",
        "how often a result at this rank is examined, relative to rank 1",
        "(SELECT input_row, rank_text, p_text AS found_p, TRY_CAST(p_text AS DOUBLE) AS value FROM given)",
        "value IS NULL OR NOT (value > 0 AND value < 1e300)",
    ),
    Check(
        "an interval that does not contain its p",
        "0 < low <= p <= high",
        "(SELECT input_row, rank_text, p, low, high FROM given)",
        "NOT (low > 0 AND low <= p AND p <= high AND high < 1e300)",
    ),
)


@dataclass(frozen=True)
class GivenTable:
    """p of ascending ranks from 1, p[1] = 1, with its interval; a law beyond the last rank."""

    ranks: Integers
    p: Floats
    low: Floats
    high: Floats
    law: FittedLaw

    @classmethod
    def read(cls, engine: Engine, file: InputFile) -> "GivenTable":
        """Read and check a file with the columns rank and p, and optionally low and high."""
        _read(engine, file)
        rows = engine.arrow("SELECT CAST(rank AS BIGINT) AS rank, p, low, high FROM given ORDER BY rank")
        ranks = rows["rank"].to_numpy()
        if len(ranks) < 2 or ranks[0] != 1:
            found = ", ".join(map(str, ranks[:5])) + ", …" * (len(ranks) > 5)
            raise LogError(
                f"{file} has the ranks {found}; expected rank 1, which is the unit of p, and others: add the rows, or "
                'set [propensity] source = "power".'
            )
        table = cls.of(ranks, *(rows[name].to_numpy() for name in ("p", *_INTERVAL)))
        if table.law.rises:
            raise LogError(
                f"{file} has p that rises with the rank, from 1 at rank 1 to {table.p[-1]:.2g} at rank {ranks[-1]} "
                "(relative to rank 1); expected less attention further down: give how often a rank is looked at, not "
                'its inverse, or set [propensity] source = "power".'
            )
        return table

    @classmethod
    def of(cls, ranks: Integers, p: Floats, low: Floats, high: Floats) -> "GivenTable":
        """Scale p so that p[1] = 1, and fit the law.

        >>> table = GivenTable.of(np.array([1, 4]), *[np.array([0.4, 0.2])] * 3)
        >>> table.at(np.array([1, 4, 16]))["p"].to_numpy().round(6).tolist()
        [1.0, 0.5, 0.25]
        """
        p, low, high = p / p[0], low / p[0], high / p[0]
        error = np.log(high / low) / (2 * ndtri((1 + LEVEL) / 2))
        return cls(ranks, p, low, high, fitted_law(ranks, np.log(p), error, LEVEL))

    @property
    def has_interval(self) -> bool:
        """Whether any p has an interval."""
        return bool((self.low < self.high).any())

    @property
    def rises(self) -> Integers:
        """The ranks whose p is higher than that of the rank before."""
        return self.ranks[1:][np.diff(self.p) > 0]

    def at(self, ranks: Integers) -> pa.Table:
        """The columns rank, p, low, high for any ranks: between those of the table, log p is linear in log rank."""
        p, low, high = self.law.at(ranks)
        if not self.has_interval:
            low, high = p.copy(), p.copy()
        inside, known = ranks <= self.ranks[-1], np.isin(ranks, self.ranks)
        for column, values in ((p, self.p), (low, self.low), (high, self.high)):
            logs = np.interp(np.log(ranks[inside]), np.log(self.ranks), np.log(values))
            column[inside] = np.exp(logs)
            column[known] = values[np.searchsorted(self.ranks, ranks[known])]
        return pa.table({"rank": pa.array(ranks, pa.int32()), "p": p, "low": low, "high": high})


def _read(engine: Engine, file: InputFile) -> None:
    """Step `given` (rank, p, low, high), checked."""
    engine.read("raw_propensity", file)
    names = [name for name in engine.columns("raw_propensity") if name != "input_row"]
    interval = [name for name in _INTERVAL if name in names]
    expected = ["rank", "p", *(_INTERVAL if interval else ())]
    if missing := [name for name in expected if name not in names]:
        raise LogError(
            f"{file} lacks the column{'s' * (len(missing) > 1)} {', '.join(missing)}.\n"
            f"  found:    {', '.join(names)}\n  expected: rank, p (optional: low and high)"
        )
    used = dict.fromkeys(expected, column_types.NUMBER)
    column_types.check(engine, "raw_propensity", used, source=str(file))
    text = {name: as_text(engine, "raw_propensity", name, number=True) for name in expected}
    number = {name: f"TRY_CAST({sql} AS DOUBLE)" for name, sql in text.items()}
    low, high = (f"coalesce({number.get(name, 'NULL')}, {number['p']})" for name in _INTERVAL)
    engine.step(
        "given",
        f"""
        SELECT input_row, {text["rank"]} AS rank_text, {text["p"]} AS p_text, {number["rank"]} AS rank,
               {number["p"]} AS p, {low} AS low, {high} AS high
        FROM raw_propensity
        """,
    )
    checks.enforce(engine, _CHECKS, source=str(file))
