"""Training data with weighted searches, against loops over the log."""

from collections import defaultdict
from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import logbook
from reference import Search, power_law
from wayword.demand.training_data import TrainingData, read
from wayword.engines import Engine

P = power_law(1.0)
RANKINGS = {query: {document: (document + query) % 4 + 1 for document in range(4)} for query in range(4)}
dated = st.lists(
    st.tuples(
        logbook.searches("retriever").flatmap(
            lambda search: st.sampled_from(["retriever", "ranker", "test"]).map(
                lambda split: Search(search.query, search.clicks, search.context, split)
            )
        ),
        st.sampled_from([1.0, 0.5, 0.3, 0.01]),
    ),
    min_size=1,
    max_size=12,
)


def data(engine: Engine, log: Sequence[tuple[Search, float]]) -> TrainingData:
    logbook.load(engine, [search for search, _ in log], RANKINGS, P)
    recency = pa.table({"search": range(len(log)), "weight_of_age": [weight for _, weight in log]})
    engine.load("ages", recency)
    engine.step(
        "numbered_searches",
        """SELECT s.search, CAST(s.search AS STRING) AS search_id, s.query, s.split, a.weight_of_age AS recency
           FROM numbered_searches AS s JOIN ages AS a ON a.search = s.search""",
    )
    engine.load("queries", pa.table({"query": range(4), "text": list("abcd")}))
    documents = {"document": range(4), "document_id": list("abcd"), "title": list("abcd")}
    engine.load("documents", pa.table(documents))
    return read(engine, "unbiased")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(log=dated)
def test_clicks_and_searches_are_sums_of_recency(engine: Engine, log: list[tuple[Search, float]]) -> None:
    found = data(engine, log)
    clicks: dict[tuple[str, int, int], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    searches: dict[tuple[str, int], float] = defaultdict(float)
    total = squares = 0.0
    for search, recency in log:
        if search.split != "test":
            searches[search.split, search.query] += recency
        for click in search.clicks:
            weight = recency * click.weight
            total, squares = total + weight, squares + weight**2
            if search.split == "test" or not weight:
                continue
            assert click.rank is not None
            row = clicks[search.split, search.query, click.document]
            row[:] = row[0] + weight, row[1] + weight / P(click.rank), max(row[2], recency)
    unit = squares / total if total else 1.0  # Kish's
    rows = {(row["split"], row["query"], row["document"]): row for row in found.clicked.to_pylist()}
    assert rows.keys() == clicks.keys()
    for key, (weight, ips_weight, recency) in clicks.items():
        assert rows[key]["weight"] == pytest.approx(weight / unit)
        assert rows[key]["ips_weight"] == pytest.approx(ips_weight / unit)
        assert rows[key]["recency"] == recency
    if found.complete:
        for query in range(4):
            expected = searches["retriever", query] + searches["ranker", query]
            assert found.searches_of("retriever", "ranker")[query] == pytest.approx(expected + 0.5)
