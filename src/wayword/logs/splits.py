"""Which searches train the retriever, which the ranker, and which are kept for the test."""

from wayword.config import LogConfig
from wayword.engines import Engine
from wayword.errors import LogError
from wayword.logs.checks import EXAMPLES, describe

SPLITS = ("retriever", "ranker", "test")


def threshold(share: float) -> str:
    """The first 8 hexadecimal digits below which this share of all md5 sums lies.

    Comparing text keeps the split the same on every engine.

    >>> threshold(0.5), threshold(0.6)
    ('80000000', '99999999')
    """
    return f"{min(int(share * 2**32), 2**32 - 1):08x}"


def assign(engine: Engine, config: LogConfig, *, source: str, timed: bool) -> None:
    """Step `searches`: the searches of `unsplit` with their `split`, by md5 of the search id or by time."""
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
        ranked = f"""(SELECT *, (row_number() OVER (ORDER BY {_clock(engine, source)}, search_id) - 1)
                      / CAST(count(*) OVER () AS DOUBLE) AS share FROM unsplit)"""
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
    """SQL for the time as something that sorts: a number where every time is one, else a timestamp."""
    for kind in ("DOUBLE", "TIMESTAMP"):
        clock = f"TRY_CAST(time_text AS {kind})"
        bad = engine.arrow(
            f"SELECT search_id, time_text AS time FROM unsplit WHERE {clock} IS NULL LIMIT {EXAMPLES}"
        )
        if bad.num_rows == 0:
            return clock
    examples = "\n".join(f"    {describe(row)}" for row in bad.to_pylist())
    raise LogError(f"{source} has times that are neither numbers nor timestamps. For example:\n{examples}")
