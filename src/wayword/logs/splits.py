"""Split of the searches into training data of the retriever, training data of the ranker, and test data."""

from wayword.config import LogConfig
from wayword.engines import Engine
from wayword.errors import LogError
from wayword.logs.clock import Clock

SPLITS = ("retriever", "ranker", "test")


def threshold(share: float) -> str:
    """The 8 hexadecimal digits below which this share of all md5 sums starts.

    Comparing text keeps the split the same on every engine.

    >>> threshold(0.5), threshold(0.6)
    ('80000000', '99999999')
    """
    return f"{min(int(share * 2**32), 2**32 - 1):08x}"


def assign(engine: Engine, config: LogConfig, clock: Clock, *, source: str) -> str:
    """Step `searches`: assign a `split` to the searches of `weighed`, by md5 of the search id or by time. Returns which
    of both, and why where it was not asked for."""
    if config.split == "time" and not clock.sql:
        raise LogError(
            f'{source} has {clock.reason}\n[log] split = "time" needs the time of every row; split = "hash" does not.'
        )
    both = config.retriever_share + config.ranker_share
    bounds: dict[str, str | float]
    if config.split == "hash" or not clock.sql:
        share, searches = "substr(md5(search_id), 1, 8)", "weighed"
        bounds = {"first": threshold(config.retriever_share), "second": threshold(both)}
    else:
        n = engine.arrow("SELECT count(*) AS n FROM weighed")["n"][0].as_py()
        engine.number("in_order", "SELECT * FROM weighed", "place", "clock, search_id")
        share, bounds = f"place / CAST({n} AS DOUBLE)", {"first": config.retriever_share, "second": both}
        searches = "in_order"
    engine.step(
        "searches",
        f"""
        SELECT *, CASE WHEN {share} < :first THEN 'retriever'
                       WHEN {share} < :second THEN 'ranker' ELSE 'test' END AS split
        FROM {searches}
        """,
        **bounds,
    )
    if searches != "weighed":
        return "by time: the newest searches are the test"
    because = f", as the log has {clock.reason.split(';')[0]}" if config.split == "auto" else ""
    return f"by md5 of the search id{because}"
