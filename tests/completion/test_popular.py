"""Most popular completion, against a loop over all queries."""

import numpy as np
import pyarrow as pa
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
    return texts, PopularRetriever(texts, np.array([counts[t] for t in texts], np.int64))


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
