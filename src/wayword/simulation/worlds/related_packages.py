"""Worlds made of pairs (query, relevant document), as in the paper's Appendix B, all queries alike."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wayword.errors import WaywordError
from wayword.progress import SILENT, Progress
from wayword.rankings.bm25 import rank_with_bm25
from wayword.simulation.world import Intents, World

RANKERS = ("bm25", "pecos")


def pairs_world(
    pairs: pa.Table,
    documents: pa.Table,
    *,
    ranker: str,
    fields: tuple[str, ...],
    depth: int,
    notes: tuple[str, ...] = (),
    progress: Progress = SILENT,
) -> World:
    """The world whose queries are those of `pairs` (columns query, document; distinct), all as likely.

    The ranker is BM25 over `fields` of the documents, or, as in the paper, PECOS trained on the pairs.
    """
    queries = pc.unique(pairs["query"]).sort()
    return World(
        documents=documents,
        queries=queries,
        rankings=_rankings(
            pairs,
            documents,
            queries.to_pylist(),
            ranker=ranker,
            fields=fields,
            depth=depth,
            progress=progress,
        ),
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


def _rankings(
    pairs: pa.Table,
    documents: pa.Table,
    queries: list[str],
    *,
    ranker: str,
    fields: tuple[str, ...],
    depth: int,
    progress: Progress,
) -> pa.Table:
    if ranker == "bm25":
        return rank_with_bm25(documents, queries, depth=depth, fields=fields, progress=progress)
    if ranker == "pecos":
        from wayword.paper.pecos_documents import rank_with_pecos

        return rank_with_pecos(pairs, queries, depth=depth)
    raise WaywordError(f"Found ranker {ranker!r}; expected one of {', '.join(map(repr, RANKERS))}.")
