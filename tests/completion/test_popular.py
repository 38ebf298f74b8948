"""Most popular completion, against a loop over all queries."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

import shop as small
from shop import Shop
from wayword.completion.popular import PopularRetriever, popularity
from wayword.engines import tables
from wayword.logs.contexts import from_prefixes

text = st.text(alphabet="ab é語🙂", max_size=4)
counted = st.dictionaries(text.filter(bool), st.integers(0, 3), max_size=12)


def popular(counts: dict[str, int]) -> tuple[list[str], PopularRetriever]:
    texts = sorted(counts)
    return texts, PopularRetriever(texts, np.array([counts[t] for t in texts], np.float64))


@given(counts=counted, prefixes=st.lists(text, max_size=4), k=st.integers(1, 5))
def test_it_is_the_loop_over_all_queries(counts: dict[str, int], prefixes: list[str], k: int) -> None:
    texts, retriever = popular(counts)
    candidates = retriever.retrieve(from_prefixes(prefixes), k)
    expected = []
    for row, prefix in enumerate(prefixes):
        matching = [q for q, t in enumerate(texts) if t.startswith(prefix) and counts[t] > 0]
        ordered = sorted(matching, key=lambda q: (-counts[texts[q]], q))[:k]
        expected += [(row, q, float(counts[texts[q]])) for q in ordered]
    assert list(zip(candidates.context, candidates.query, candidates.score, strict=True)) == expected
    dtypes = [array.dtype.name for array in (candidates.context, candidates.query, candidates.score)]
    assert dtypes == ["int32", "int32", "float32"]


def test_it_is_blind_to_extra_columns() -> None:
    _, retriever = popular({"mail": 1, "map": 2})
    contexts = pa.table({"prefix": ["ma", "ma"], "season": ["summer", "winter"]})
    assert retriever.retrieve(contexts, 1).query.tolist() == [1, 1]


def test_popularity_counts_the_searches_of_its_splits(shop: Shop) -> None:
    folder = shop.workspace.folder("rankings")
    searches = tables.read(folder, "numbered_searches").to_pylist()
    for splits in (("retriever",), ("retriever", "ranker")):
        expected = [0] * len(small.QUERIES)
        for row in searches:
            expected[row["query"]] += row["split"] in splits
        assert popularity(folder, *splits).tolist() == expected


def test_popularity_is_the_sum_of_recency(tmp_path: Path) -> None:
    """Query 2 has no results; search 3 took a suggestion and probably intended query 0."""
    searches = {
        "search": [0, 1, 2, 3, 4, 5],
        "split": ["retriever", "retriever", "ranker", "ranker", "test", "ranker"],
        "query": [0, 0, 1, 1, 1, 2],
        "recency": [0.125, 0.25, 0.5, 0.75, 1.0, 0.5],
    }
    pq.write_table(pa.table(searches), tmp_path / "numbered_searches.parquet")
    pq.write_table(pa.table({"ranked": [True, True, False]}), tmp_path / "queries.parquet")
    pq.write_table(
        pa.table({"search": [3, 3, 4], "query": [0, 1, 0], "probability": [0.8, 0.2, 1.0]}),
        tmp_path / "intended.parquet",
    )
    assert popularity(tmp_path, "retriever", "ranker").tolist() == [0.125 + 0.25, 0.5 + 0.75, 0]
    assert popularity(tmp_path, "retriever", "ranker", weighted=False).tolist() == [2, 2, 0]
    intended = popularity(tmp_path, "retriever", "ranker", acceptance=tmp_path)
    assert intended.tolist() == [0.125 + 0.25 + 0.8 * 0.75, 0.5 + 0.2 * 0.75, 0]
    counted = popularity(tmp_path, "retriever", "ranker", acceptance=tmp_path, weighted=False)
    assert counted.tolist() == [3, 1, 0]  # 2.8 and 1.2
