"""Split of the searches into training data of the retriever, training data of the ranker, and test data."""

from wayword.config import LogConfig
from wayword.engines import Engine
from wayword.errors import LogError
from wayword.logs.checks import EXAMPLES, describe

SPLITS = ("retriever", "ranker", "test")


def threshold(share: float) -> str:
    """The 8 hexadecimal digits below which this share of all md5 sums starts.

    Comparing text keeps the split the same on every engine.

    >>> threshold(0.5), threshold(0.6)
    ('80000000', '99999999')
    """
    return f"{min(int(share * 2**32), 2**32 - 1):08x}"


def assign(engine: Engine, config: LogConfig, *, source: str, timed: bool) -> None:
    """Step `searches`: assign a `split` to the searches of `unsplit`, by md5 of the search id or by time."""
    bounds: dict[str, str | float]
    both = config.retriever_share + config.ranker_share
    if config.split == "hash":
        share, bounds = (
            "substr(md5(search_id), 1, 8)",
            {"first": threshold(config.retriever_share), "second": threshold(both)},
        )
        ranked = "unsplit"
    else:
        if not timed:
            raise LogError(
                f'{source} has no column `time`; [log] split = "time" needs one. Use split = "hash" instead.'
            )
        share, bounds = "share", {"first": config.retriever_share, "second": both}
        clock = _clock(engine, source)
        ranked = f"""(SELECT s.*, (row_number() OVER (ORDER BY first.clock, s.search_id) - 1)
                        / CAST(count(*) OVER () AS DOUBLE) AS share
                      FROM unsplit AS s JOIN (SELECT search_id, min({clock}) AS clock FROM typed GROUP BY search_id)
                        AS first ON first.search_id = s.search_id)"""
    engine.step(
        "searches",
        f"""
        SELECT u.*, CASE WHEN {share} < :first THEN 'retriever'
                         WHEN {share} < :second THEN 'ranker' ELSE 'test' END AS split
        FROM {ranked} AS u
        """,
        **bounds,
    )


def _clock(engine: Engine, source: str) -> str:
    """SQL for the time of a row as a number: the value itself if all are numbers, else the parsed ISO timestamp."""
    number = "TRY_CAST(time_text AS DOUBLE)"
    infinity = "CAST('inf' AS DOUBLE)"
    clocks = (f"CASE WHEN abs({number}) < {infinity} THEN {number} END", engine.instant("time_text"))
    unread = {clock: f"FROM typed WHERE {clock} IS NULL" for clock in clocks}
    counts = {c: engine.arrow(f"SELECT count(*) AS n {bad}")["n"][0].as_py() for c, bad in unread.items()}
    best = min(clocks, key=lambda clock: counts[clock])
    if not counts[best]:
        return best
    rows = engine.arrow(
        f"""SELECT input_row, search_id, coalesce(time_text, '') AS time {unread[best]}
            ORDER BY input_row LIMIT {EXAMPLES}"""
    )
    examples = "\n".join(f"    {describe(row)}" for row in rows.to_pylist())
    raise LogError(
        f"{source} has {counts[best]:,} times that cannot be read; expected numbers in every row, or ISO timestamps "
        f"in every row. For example:\n{examples}"
    )
