"""Worlds made of pairs (query, relevant document), as in the paper's Appendix B, with equally likely queries."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wayword.progress import SILENT, Progress
from wayword.rankings.document_ranker import DocumentRanker
from wayword.simulation.world import Intents, World


def pairs_world(
    pairs: pa.Table,
    documents: pa.Table,
    *,
    ranker: DocumentRanker,
    fields: tuple[str, ...],
    depth: int,
    notes: tuple[str, ...] = (),
    progress: Progress = SILENT,
) -> World:
    """Build the world whose queries are those of `pairs` (columns query, document; distinct), equally likely.

    The ranker uses the `fields` of the documents, or learns from the pairs, as the paper's does.
    """
    queries = pc.unique(pairs["query"]).sort()
    return World(
        documents=documents,
        queries=queries,
        rankings=ranker(documents, pairs, queries.to_pylist(), depth=depth, fields=fields, progress=progress),
        intents=Intents(
            query=np.arange(len(queries)),
            probability=np.full(len(queries), 1 / max(len(queries), 1)),
            owner=pc.index_in(pairs["query"], value_set=queries).to_numpy().astype(np.int64),
            document=pc.index_in(pairs["document"], value_set=documents["document"].combine_chunks())
            .to_numpy()
            .astype(np.int64),
        ),
        depth=depth,
        rankings_of="all",
        notes=notes,
    )
