"""Chooses the strength of context columns by the Utility@k of held-out searches of the training log."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from wayword.completion.context_affinity import Affinity
from wayword.completion.expected_utility import ExpectedUtilityRetriever
from wayword.completion.retriever_io import DOCUMENTS_IN, QUERIES_IN
from wayword.completion.sparse_topk import DemandGraph
from wayword.completion.validation import HeldOut, Validator, significantly_larger
from wayword.engines import Engine
from wayword.logs.contexts import PREFIX
from wayword.store.compressed_rows import WeightedRows
from wayword.utility import DEEPEST

HELD_OUT = 8000
"""Largest number of held-out searches."""
STRENGTHS = (3.0, 10.0, 30.0)
"""Candidate strengths of the prior of a factor, in searches."""


@dataclass(frozen=True)
class ContextClicks:
    """The contexts of a log, its training clicks with their contexts, and the held-out ones with their IPS weights."""

    contexts: pa.Table
    training: pa.Table
    """split, query, recency, document, context."""
    held_out: pa.Table
    """context, document, ips_weight."""

    @classmethod
    def read(cls, engine: Engine, contexts: pa.Table) -> "ContextClicks":
        """Read the numbered log, `instances` and `propensity`.

        All contexts of a search have the same columns, so the first one is used. Held-out searches are drawn from the
        ranker's split by the md5 of their ids.
        """
        training = engine.arrow(
            """
            SELECT s.split, s.query, s.recency, c.document, i.context FROM numbered_clicks AS c
            JOIN numbered_searches AS s ON s.search = c.search
            JOIN (SELECT search, min(context) AS context FROM instances GROUP BY search) AS i ON i.search = c.search
            WHERE s.split <> 'test' AND c.weight > 0 ORDER BY c.search, c.document
            """
        )
        held_out = engine.arrow(
            f"""
            SELECT i.context, c.document, c.weight / p.p AS ips_weight
            FROM (SELECT s.search FROM numbered_searches AS s
                  WHERE s.split = 'ranker' AND s.search IN (SELECT search FROM numbered_clicks WHERE weight > 0)
                    AND s.search IN (SELECT search FROM instances)
                  ORDER BY md5(s.search_id), s.search LIMIT {HELD_OUT}) AS chosen
            JOIN instances AS i ON i.search = chosen.search
            JOIN numbered_clicks AS c ON c.search = chosen.search AND c.weight > 0
            JOIN propensity AS p ON p.rank = c.rank
            ORDER BY i.context, chosen.search, c.document
            """
        )
        return cls(contexts, training, held_out)

    def affinity(self, kind: str, strength: float, graph: DemandGraph, *splits: str) -> Affinity:
        """Fit the factors of documents, or of queries, to the clicks of these splits."""
        chosen = self.training.filter(pc.is_in(self.training["split"], value_set=pa.array(splits)))
        columns = self.contexts.drop_columns([PREFIX]).take(chosen["context"].combine_chunks())
        owner, owners = ("document", graph.documents) if kind == DOCUMENTS_IN else ("query", graph.universe)
        recency = chosen["recency"].to_numpy()
        return Affinity.fit(columns, chosen[owner].to_numpy(), owners, strength, recency)


def choose(
    clicks: ContextClicks,
    exposure: WeightedRows,
    retriever: Callable[[Mapping[str, Affinity]], ExpectedUtilityRetriever],
) -> dict[str, float]:
    """Choose the strengths for documents and for queries; a kind that does not significantly help is left out.

    `retriever` builds a retriever with these affinities, with a demand learned without the held-out searches.
    """
    held_out = clicks.held_out
    if not held_out.num_rows:
        return {}
    numbers, row = np.unique(held_out["context"].to_numpy(), return_inverse=True)
    contexts = clicks.contexts.take(pa.array(numbers))
    graph = retriever({}).graph
    validator = Validator(
        exposure.matrix(graph.universe).T.tocsr(),
        HeldOut(row, held_out["document"].to_numpy().astype(np.int64), held_out["ips_weight"].to_numpy()),
    )

    def value(context: Mapping[str, Affinity]) -> NDArray[np.float64]:
        return validator.utilities(retriever(context).retrieve(contexts, DEEPEST), len(numbers))

    best, strengths, context = value({}), dict[str, float](), dict[str, Affinity]()
    for kind in (DOCUMENTS_IN, QUERIES_IN):
        trials = {s: clicks.affinity(kind, s, graph, "retriever") for s in STRENGTHS}
        values = {s: value({**context, kind: trial}) for s, trial in trials.items()}
        strength = max(values, key=lambda s: float(values[s].sum()))
        if significantly_larger(values[strength], best):
            best, strengths[kind], context = values[strength], strength, {**context, kind: trials[strength]}
    return strengths
