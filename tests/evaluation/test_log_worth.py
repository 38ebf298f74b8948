"""What can be learned from a log at most, by arithmetic."""

import pyarrow as pa
import pytest

from shop import Shop
from wayword.engines import Engine
from wayword.evaluation.log_worth import LogWorth

P = {1: 1.0, 2: 1 / 2, 3: 1 / 3}
RANKINGS = {(0, 0): 1, (0, 1): 3, (1, 1): 1, (1, 2): 2, (2, 3): 1}
"""(query, document) → rank."""
SEARCHES = [0] * 10 + [1, 2]


def worth(engine: Engine, clicks: list[tuple[int, int, int, float]]) -> LogWorth:
    """`clicks` are (search, document, rank, weight)."""
    columns = list(zip(*clicks, strict=True)) or [()] * 4
    kinds = {"search": pa.int64(), "document": pa.int32(), "rank": pa.int32(), "weight": pa.float64()}
    engine.load(
        "numbered_clicks",
        pa.table(
            {
                name: pa.array(values, kind)
                for (name, kind), values in zip(kinds.items(), columns, strict=True)
            }
        ),
    )
    engine.load(
        "numbered_searches",
        pa.table(
            {"search": pa.array(range(len(SEARCHES)), pa.int64()), "query": pa.array(SEARCHES, pa.int32())}
        ),
    )
    query, document = zip(*RANKINGS, strict=True)
    ranks = {"query": query, "document": document, "rank": list(RANKINGS.values())}
    engine.load("rankings", pa.table({name: pa.array(values, pa.int32()) for name, values in ranks.items()}))
    engine.load("propensity", pa.table({"rank": pa.array(P, pa.int32()), "p": list(P.values())}))
    return LogWorth.of(engine)


def test_counts_and_the_bound(engine: Engine) -> None:
    found = worth(engine, [(0, 0, 1, 1.0), (1, 1, 3, 2.0), (10, 1, 1, 1.0), (11, 0, 2, 1.0)])
    best, own = [P[1] / P[1], 2 * P[1] / P[3], P[1] / P[1], P[1] / P[2]], [1, 2 * P[3] / P[3], 1, 0]
    assert found.bound == pytest.approx(sum(best) / sum(own))
    assert (found.searches, found.clicks, found.queries) == (12, 4, 3)
    assert (
        found.elsewhere == 3 / 4
    )  # document 1 is returned by two queries, document 0 not by the query searched
    assert found.better_elsewhere == 2 / 4
    assert found.often == 10 / 12
    assert found.verdict == "worth it"
    assert f"{sum(best) / sum(own):.2f} times" in found.sentence


def test_a_log_without_a_click_teaches_nothing(engine: Engine) -> None:
    assert worth(engine, []).sentence.startswith("Too small: the log has no click")


def test_where_every_query_is_the_best_for_its_clicks_nothing_is_to_win(engine: Engine) -> None:
    found = worth(engine, [(0, 0, 1, 1.0), (10, 1, 1, 1.0), (11, 3, 1, 1.0)])
    assert found.bound == 1
    assert found.sentence.startswith("Nothing to win: ")
    assert "for 0% at a better rank, so at most 1.00 times" in found.sentence


def test_less_than_a_click_per_query_is_too_small(engine: Engine) -> None:
    found = worth(engine, [(1, 1, 3, 2.0)])
    assert found.sentence.startswith(
        "Probably too small: 1 clicks in 12 searches of 3 queries (0.33 clicks and 4 searches per query)"
    )


def test_nothing_exceeds_the_bound(shop: Shop, engine: Engine) -> None:
    """On searches of all splits; the oracle of the estimates knows the clicked document too."""
    shop.fill(engine)
    found = LogWorth.of(engine)
    assert found.bound is not None
    for split in ("retriever", "ranker", "test"):
        rows = engine.arrow(
            f"""SELECT c.weight * max(p.p) / min(own.p) AS best FROM numbered_clicks AS c
                JOIN numbered_searches AS s ON s.search = c.search AND s.split = '{split}'
                JOIN rankings AS r ON r.document = c.document JOIN propensity AS p ON p.rank = r.rank
                JOIN propensity AS own ON own.rank = c.rank
                GROUP BY c.search, c.document, c.rank, c.weight"""
        )["best"].to_numpy()
        assert rows.min() >= 1
    assert shop.workspace.report("worth")["bound"] == pytest.approx(found.bound)
