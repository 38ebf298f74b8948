"""Small graphs of queries and documents with clicks, for Hypothesis and for slow references."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st
from scipy.sparse import csr_array

from wayword.demand.observations import Floats, Observations
from wayword.demand.similarity import Similarity

WORDS = ("red", "blue", "shoe", "bag", "coat")


@dataclass(frozen=True)
class Small:
    """Query q has the text `texts[q]` and `query_rate[q]`; `p[q, a]` is 0 where it does not return document a."""

    texts: Sequence[str]
    p: Floats
    clicks: Floats
    """Queries × documents."""
    query_rate: Floats
    names: Sequence[str] = ()
    titles: Sequence[str] = ()
    """Of documents; without any, their numbers and nothing."""

    def similarity(self, pairs: Observations) -> Similarity:
        """Similar queries and documents."""
        documents = self.p.shape[1]
        names = self.names or [str(a) for a in range(documents)]
        return Similarity.of(self.texts, names, self.titles or [""] * documents, pairs)

    def pairs(self) -> Observations:
        """No click at a rank that the rankings do not give."""
        return Observations.of(csr_array(self.p), clicked())

    def of_pairs(self, pairs: Observations) -> Floats:
        """The clicks of each pair."""
        found: Floats = self.clicks[pairs.query, pairs.document]
        return found

    def permuted(self, queries: Sequence[int], documents: Sequence[int]) -> "Small":
        """Query i is what was query `queries[i]`, document j what was `documents[j]`."""
        return replace(
            self,
            texts=[self.texts[q] for q in queries],
            p=self.p[np.ix_(queries, documents)],
            clicks=self.clicks[np.ix_(queries, documents)],
            query_rate=self.query_rate[list(queries)],
            names=[self.names[a] for a in documents] if self.names else (),
            titles=[self.titles[a] for a in documents] if self.titles else (),
        )


def clicked(*rows: tuple[int, int, float, float]) -> pa.Table:
    """The table of clicks: query, document, weight, ips_weight."""
    query, document, weight, ips_weight = zip(*rows, strict=True) if rows else ((), (), (), ())
    return pa.table(
        {
            "query": pa.array(query, pa.int32()),
            "document": pa.array(document, pa.int32()),
            "weight": pa.array(weight, pa.float64()),
            "ips_weight": pa.array(ips_weight, pa.float64()),
        }
    )


@st.composite
def smalls(draw: st.DrawFn) -> Small:
    """Two to eight queries of one to three words, up to six documents, no two similarities alike."""
    queries, documents = draw(st.integers(2, 8)), draw(st.integers(1, 6))
    texts = [" ".join(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3))) for _ in range(queries)]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    p = np.where(rng.random((queries, documents)) < 0.7, rng.uniform(0.05, 1.0, (queries, documents)), 0.0)
    clicks = np.where(p > 0, rng.poisson(0.7, p.shape), 0).astype(np.float64)
    names = [f"{draw(st.sampled_from(WORDS))}-{draw(st.sampled_from(WORDS))}{a}" for a in range(documents)]
    titles = [" ".join(draw(st.lists(st.sampled_from(WORDS), max_size=4))) for _ in range(documents)]
    return Small(texts, p, clicks, rng.uniform(0.3, 4.0, queries), names, titles)
