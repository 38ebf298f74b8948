"""Document rankers to use where the production engine has no exported rankings: the protocol and the built-in ones."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import pyarrow as pa

from wayword.errors import WaywordError
from wayword.progress import SILENT, Progress


class DocumentRanker(Protocol):
    """Queries → (query, document, rank), at most `depth` documents per query."""

    def __call__(
        self,
        documents: pa.Table,
        relevant: pa.Table,
        queries: Sequence[str],
        *,
        depth: int,
        fields: tuple[str, ...] | None = None,
        progress: Progress = SILENT,
    ) -> pa.Table:
        """Rank `documents` (document, title, …) by their text in `fields`, or by a model trained on the pairs
        `relevant` (query, document). `progress` counts the ranked queries."""
        ...


def bm25(
    documents: pa.Table,
    relevant: pa.Table,  # noqa: ARG001 (a lexical ranker is not trained)
    queries: Sequence[str],
    *,
    depth: int,
    fields: tuple[str, ...] | None = None,
    progress: Progress = SILENT,
) -> pa.Table:
    """Rank with BM25; see `DocumentRanker`."""
    from wayword.rankings.bm25 import FIELDS, rank_with_bm25

    chosen = FIELDS if fields is None else fields
    return rank_with_bm25(documents, queries, depth=depth, fields=chosen, progress=progress)


RANKERS: Mapping[str, DocumentRanker] = {"bm25": bm25}
"""Rankers without optional dependencies. `pipeline` adds the paper's."""


def ranker_named(name: str, rankers: Mapping[str, DocumentRanker]) -> DocumentRanker:
    """The ranker of this name; an unknown name raises an error that lists the known ones."""
    if name not in rankers:
        raise WaywordError(f"Found ranker {name!r}; expected one of {', '.join(map(repr, rankers))}.")
    return rankers[name]
