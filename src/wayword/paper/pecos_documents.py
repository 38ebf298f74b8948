"""The paper's production document ranker: PECOS trained on pairs of query and document.

Section "Experimental Setup". It replaces a search engine in a simulated world: its result lists are the rankings table.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

from wayword.errors import LogError
from wayword.paper import pecos_model
from wayword.progress import SILENT, Progress
from wayword.text import normalise

MAX_LEAF = 100
BEAM = 20
CHUNK = 2048


def rank_with_pecos(
    pairs: pa.Table,
    queries: Sequence[str],
    *,
    depth: int = 100,
    seed: int = 0,
    progress: Progress = SILENT,
) -> pa.Table:
    """Train on `pairs` (query, document) and return (query, document, rank), at most `depth` rows per query.

    Rows follow `queries`, then the rank; equal scores are ordered by document. `progress` counts
    the answered queries.
    """
    if not pairs.num_rows:
        raise LogError(
            "Found no pairs of query and document to train the PECOS ranker on; expected at least one."
        )
    with tempfile.TemporaryDirectory(prefix="wayword-") as scratch:
        text, documents = _train(pairs, Path(scratch), seed)
        tree = pecos_model.XLinear.load(Path(scratch) / "tree")
        blocks = [_schema().empty_table()]
        for start in range(0, len(queries), CHUNK):
            chunk = list(queries[start : start + CHUNK])
            blocks.append(
                _ranking_table(chunk, tree.predict(_features(text, chunk), depth, beam=BEAM), documents)
            )
            progress.advance(start + len(chunk), len(queries))
    return pa.concat_tables(blocks).combine_chunks()


def pecos(
    documents: pa.Table,  # noqa: ARG001 (PECOS learns from the pairs alone)
    relevant: pa.Table,
    queries: Sequence[str],
    *,
    depth: int,
    fields: tuple[str, ...] | None = None,  # noqa: ARG001
    progress: Progress = SILENT,
) -> pa.Table:
    """Rank with PECOS trained on the relevant pairs; see `rankings.document_ranker.DocumentRanker`."""
    return rank_with_pecos(relevant, queries, depth=depth, progress=progress)


def _train(pairs: pa.Table, folder: Path, seed: int) -> tuple[pecos_model.TextFeatures, pa.Array]:
    """Train with one instance per distinct query, its documents as labels; documents are numbered in sorted order."""
    queries, documents = (pc.unique(pairs[name]).sort() for name in ("query", "document"))
    row = pc.index_in(pairs["query"], value_set=queries).to_numpy()
    column = pc.index_in(pairs["document"], value_set=documents).to_numpy()
    shape = (len(queries), len(documents))
    labels = sparse.csr_matrix((np.ones(len(row), dtype=np.float32), (row, column)), shape=shape)
    text = pecos_model.TextFeatures.fit([normalise(query) for query in queries.to_pylist()], folder / "text")
    pecos_model.train(
        _features(text, queries.to_pylist()), labels, folder / "tree", max_leaf=MAX_LEAF, seed=seed, threads=2
    )
    return text, documents


def _features(text: pecos_model.TextFeatures, queries: Sequence[str]) -> sparse.csr_matrix:
    return text.transform([normalise(query) for query in queries])


def _ranking_table(queries: list[str], scores: sparse.csr_matrix, documents: pa.Array) -> pa.Table:
    row = np.repeat(np.arange(len(queries)), np.diff(scores.indptr))
    order = np.lexsort((scores.indices, -scores.data, row))
    columns = [
        pa.array(queries, pa.string()).take(pa.array(row)),
        documents.take(pa.array(scores.indices[order])).cast(pa.string()),
        pa.array(_ranks(scores.indptr)),
    ]
    return pa.Table.from_arrays(columns, schema=_schema())


def _ranks(starts: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return 1, 2, … within each row of a compressed sparse matrix.

    >>> _ranks(np.array([0, 2, 3])).tolist()
    [1, 2, 1]
    """
    return (np.arange(starts[-1]) - np.repeat(starts[:-1], np.diff(starts)) + 1).astype(np.int32)


def _schema() -> pa.Schema:
    return pa.schema([("query", pa.string()), ("document", pa.string()), ("rank", pa.int32())])
