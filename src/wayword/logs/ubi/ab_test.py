"""A/B test: how users reacted to the completions of each arm, with intervals that resample users.

    share picked       picks / lists shown
    clicks per search  clicks / searches that began with a pick
    reciprocal rank    Σ over those searches of 1 / (rank of the topmost click), 0 without a click / those searches

Lists of most popular completion, which the page shows for comparison, belong to no arm.
Each measure is a ratio of sums over users. Events of one user are correlated, so users are resampled, not events.
The difference of two arms also has an interval that stays valid however often one looks (`anytime`).
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from wayword.bootstrap import interval, resample
from wayword.config import EvaluationConfig
from wayword.engines.duck import DuckDB
from wayword.logs.ubi import anytime

GROUPS = 1 << 12
"""More users than this are resampled in so many random groups, which hardly changes the intervals."""
BESIDE = "popular"
"""The policy of lists that are shown for comparison."""
MEASURES = {
    "share picked": ("picked", "shown"),
    "clicks per search": ("clicks", "searches"),
    "reciprocal rank": ("reciprocal", "searches"),
}
_COUNTED = ("shown", "picked", "searches", "clicks", "reciprocal")
_SCHEMA = pa.schema(
    [
        ("arm", pa.string()),
        ("people", pa.int64()),
        *((name, pa.int64()) for name in ("shown", "picked", "searches", "clicks")),
        ("measure", pa.string()),
        *((name, pa.float64()) for name in ("value", "low", "high", "anytime_low", "anytime_high")),
    ]
)


def compare(engine: DuckDB, config: EvaluationConfig) -> pa.Table:
    """One row per arm and measure, and with two arms also one per difference of the second from the first.

    `low` and `high` are valid for one look at data of a size fixed before; `anytime_low` and `anytime_high`, of the
    differences, for any number of looks. Needs `completions`, `began` and `clicks`.
    """
    _sum(engine)
    rows = engine.arrow(
        f"""SELECT arm, CAST(dense_rank() OVER (ORDER BY md5(person), person) - 1 AS INTEGER) AS person,
                   {", ".join(_COUNTED)} FROM by_person ORDER BY arm, person"""
    )
    arms = rows["arm"].to_numpy(zero_copy_only=False)
    names, users = sorted(set(arms)), pc.count_distinct(rows["person"]).as_py()
    sums = {name: _by_user(rows.filter(pa.array(arms == name)), users) for name in names}
    people = {name: int(np.count_nonzero(arms == name)) for name in names}
    replicates = {name: _of_arm(sums[name], config) for name in names}
    table = [_rows(name, sums[name], replicates[name], people[name], config) for name in names]
    if len(names) == 2:
        table.append(
            _difference(
                names, [sums[name] for name in names], [replicates[name] for name in names], table, config
            )
        )
    return pa.concat_tables(table) if table else _SCHEMA.empty_table()


def _by_user(rows: pa.Table, users: int) -> dict[str, NDArray[np.float64]]:
    """The counts of each user, 0 for those who have not seen the arm."""
    person = rows["person"].to_numpy()
    return {name: np.bincount(person, rows[name].to_numpy(), users).astype(np.float64) for name in _COUNTED}


def _sum(engine: DuckDB) -> None:
    """Table `by_person`: the counts of each user in each arm. A search without a user is a user of its own."""
    person, own = "coalesce(person, query_id, '')", f"policy IS DISTINCT FROM '{BESIDE}'"
    engine.step(
        "topmost",
        """SELECT query_id, count(*) AS clicks, 1 / CAST(min(rank) AS DOUBLE) AS reciprocal
           FROM clicks GROUP BY query_id""",
    )
    engine.step(
        "by_person",
        f"""
        SELECT arm, person, {", ".join(f"CAST(sum({name}) AS DOUBLE) AS {name}" for name in _COUNTED[:-1])},
               {engine.ordered_sum("reciprocal", "query_id")} AS reciprocal
        FROM (
          SELECT coalesce(arm, '') AS arm, {person} AS person, query_id, CAST(action = 'shown' AS INTEGER) AS shown,
                 CAST(action = 'picked' AS INTEGER) AS picked, 0 AS searches, 0 AS clicks,
                 CAST(0 AS DOUBLE) AS reciprocal
          FROM completions WHERE {own}
          UNION ALL
          SELECT coalesce(b.arm, ''), coalesce(b.person, b.query_id), b.query_id, 0, 0, 1, coalesce(t.clicks, 0),
                 coalesce(t.reciprocal, 0)
          FROM began AS b LEFT JOIN topmost AS t ON t.query_id = b.query_id WHERE {own}
        ) AS each GROUP BY arm, person
        """,
    )


def _of_arm(sums: dict[str, NDArray[np.float64]], config: EvaluationConfig) -> list[NDArray[np.float64]]:
    """Bootstrap replicates of each measure (NaN where a draw has none)."""
    part = np.arange(len(sums["shown"])) % GROUPS
    grouped = {name: np.bincount(part, counts).astype(np.float64) for name, counts in sums.items()}
    return [_replicates(grouped[top], grouped[bottom], config) for top, bottom in MEASURES.values()]


def _replicates(
    top: NDArray[np.float64], bottom: NDArray[np.float64], config: EvaluationConfig
) -> NDArray[np.float64]:
    """One replicate per draw, so that those of two arms can be paired."""
    drawn = resample(bottom[:, None], np.ones(len(bottom)), config)[:, 0] > 0
    found = np.full((len(drawn), 1), np.nan)
    found[drawn] = resample(top[:, None], bottom, config)
    return found


def _known(replicates: NDArray[np.float64]) -> NDArray[np.float64]:
    return replicates[~np.isnan(replicates[:, 0])]


def _rows(
    name: str,
    sums: dict[str, NDArray[np.float64]],
    replicates: list[NDArray[np.float64]],
    people: int,
    config: EvaluationConfig,
) -> pa.Table:
    bounds = [interval(_known(each), config.level) for each in replicates]
    count = len(MEASURES)
    totals = {kind: float(counts.sum()) for kind, counts in sums.items()}
    return pa.table(
        {
            "arm": [name] * count,
            "people": [people] * count,
            **{kind: [int(totals[kind])] * count for kind in _COUNTED[:-1]},
            "measure": list(MEASURES),
            "value": [_ratio(totals[top], totals[bottom]) for top, bottom in MEASURES.values()],
            "low": [float(low[0]) for low, _ in bounds],
            "high": [float(high[0]) for _, high in bounds],
            "anytime_low": [None] * count,
            "anytime_high": [None] * count,
        },
        schema=_SCHEMA,
    )


def _ratio(top: float, bottom: float) -> float:
    return top / bottom if bottom else float("nan")


def _difference(
    names: list[str],
    sums: list[dict[str, NDArray[np.float64]]],
    replicates: list[list[NDArray[np.float64]]],
    tables: list[pa.Table],
    config: EvaluationConfig,
) -> pa.Table:
    """The difference of the arms. Draws are paired: a user who has seen both arms is drawn in both."""
    first, second = (table["value"].to_numpy() for table in tables)
    gains = [_known(b - a) for a, b in zip(*replicates, strict=True)]
    bounds = [interval(each, config.level) for each in gains]
    always = [
        anytime.difference((sums[0][top], sums[0][bottom]), (sums[1][top], sums[1][bottom]), config.level)
        for top, bottom in MEASURES.values()
    ]
    return pa.table(
        {
            "arm": [f"{names[1]} - {names[0]}"] * len(MEASURES),
            **{kind: [None] * len(MEASURES) for kind in ("people", *_COUNTED[:-1])},
            "measure": list(MEASURES),
            "value": second - first,
            "low": [float(low[0]) for low, _ in bounds],
            "high": [float(high[0]) for _, high in bounds],
            "anytime_low": [bound and bound[0] for bound in always],
            "anytime_high": [bound and bound[1] for bound in always],
        },
        schema=_SCHEMA,
    )
