"""Worlds small enough to compute what people who type do by hand."""

import numpy as np
import pyarrow as pa

from wayword.simulation.world import Intents, World


def world_of(
    pages: dict[str, list[str]], intents: list[tuple[str, float, list[str]]], depth: int = 2
) -> World:
    """A world of result pages (query → documents) and intents (query, probability, relevant documents)."""
    queries = list(pages)
    documents = sorted({document for page in pages.values() for document in page})
    rows = [
        {"query": query, "document": document, "rank": rank}
        for query, page in pages.items()
        for rank, document in enumerate(page, start=1)
    ]
    schema = pa.schema([("query", pa.string()), ("document", pa.string()), ("rank", pa.int32())])
    wanted = [(n, documents.index(name)) for n, (_, _, names) in enumerate(intents) for name in names]
    return World(
        documents=pa.table({"document": documents, "title": documents}),
        queries=pa.array(queries, pa.string()),
        rankings=pa.Table.from_pylist(rows, schema=schema),
        intents=Intents(
            query=np.array([queries.index(query) for query, _, _ in intents], np.int64),
            probability=np.array([probability for _, probability, _ in intents]),
            owner=np.array([owner for owner, _ in wanted], np.int64),
            document=np.array([document for _, document in wanted], np.int64),
        ),
        depth=depth,
        rankings_of="logged",
    )


def two_queries() -> World:
    """ "ab" (0.6 of people, who want d0) and "abc" (0.4, who want d1, second on the page of "ab")."""
    return world_of({"ab": ["d0", "d1"], "abc": ["d1"]}, [("ab", 0.6, ["d0"]), ("abc", 0.4, ["d1"])])
