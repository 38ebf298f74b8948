"""The paper's retriever (section "Practical Instantiation", query retrieval): PECOS from contexts to queries.

A training instance is a search with a prefix cut from its query; its labels are the alternative queries whose
estimated utility is at least that of the logged query. The tree makes retrieval logarithmic in the number of queries.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from wayword.completion.candidates import Candidates
from wayword.config import RetrieverConfig
from wayword.errors import LogError
from wayword.logs.contexts import PREFIX, ContextColumns
from wayword.paper import pecos_model
from wayword.store.artefact import check, seal

TEXT, TREE, COLUMNS, QUERIES = "text", "tree", "columns.json", "queries.npy"


def train(
    contexts: pa.Table, labels: sparse.csr_matrix, folder: Path, config: RetrieverConfig, *, threads: int = 2
) -> None:
    """Train from contexts (rows of `labels`) to queries (its columns), and write the model.

    The tree has only queries that are a label of some context. `folder` must be absent or empty.
    """
    used = _label_queries(labels)
    if not contexts.num_rows or not len(used):
        raise LogError(
            f"The retriever got {contexts.num_rows} contexts with {len(used)} different queries as labels; "
            "expected at least one of each. Is the retriever's split of the log empty?"
        )
    text = pecos_model.TextFeatures.fit(contexts[PREFIX].to_pylist(), folder / TEXT)
    columns = ContextColumns.fit(contexts)
    features = _features(text, columns, contexts, threads)
    kept = sparse.csr_matrix(labels[:, used])
    pecos_model.train(
        features, kept, folder / TREE, max_leaf=config.max_leaf, seed=config.seed, threads=threads
    )
    columns.save(folder / COLUMNS)
    np.save(folder / QUERIES, used, allow_pickle=False)
    seal(folder)


class PecosRetriever:
    """Retrieves queries for contexts by PECOS's beam search."""

    def __init__(
        self,
        text: pecos_model.TextFeatures,
        tree: pecos_model.XLinear,
        columns: ContextColumns,
        queries: NDArray[np.int32],
        *,
        beam: int,
    ) -> None:
        self._text, self._tree, self._columns, self._queries, self._beam = text, tree, columns, queries, beam

    @classmethod
    def load(cls, folder: Path, config: RetrieverConfig) -> "PecosRetriever":
        """Read the folder that `train` wrote; a damaged folder is a `WorkspaceError`."""
        check(folder)
        return cls(
            pecos_model.TextFeatures.load(folder / TEXT),
            pecos_model.XLinear.load(folder / TREE),
            ContextColumns.load(folder / COLUMNS),
            np.load(folder / QUERIES, allow_pickle=False),
            beam=config.beam,
        )

    def retrieve(self, contexts: pa.Table, k: int) -> Candidates:
        """Return at most k queries per context. The result of a context does not depend on the batch."""
        chunks = [
            self._retrieve(contexts.slice(start, pecos_model.CHUNK), k, start)
            for start in range(0, max(contexts.num_rows, 1), pecos_model.CHUNK)
        ]
        context, query, score = (np.concatenate(arrays) for arrays in zip(*chunks, strict=True))
        return Candidates.sorted(context, query, score).of("pecos")

    def _retrieve(
        self, contexts: pa.Table, k: int, start: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]:
        features = _features(self._text, self._columns, contexts, threads=1)
        scores = self._tree.predict(features, k, beam=self._beam)
        row = np.repeat(np.arange(contexts.num_rows, dtype=np.int32), np.diff(scores.indptr))
        return row + np.int32(start), self._queries[scores.indices], scores.data


def _label_queries(labels: sparse.csr_matrix) -> NDArray[np.int32]:
    """Return the numbers of the queries that are a label of some context."""
    counts = np.bincount(labels.indices[labels.data != 0], minlength=labels.shape[1])
    return np.flatnonzero(counts).astype(np.int32)


def _features(
    text: pecos_model.TextFeatures, columns: ContextColumns, contexts: pa.Table, threads: int
) -> sparse.csr_matrix:
    """Concatenate the tf-idf features of the prefix and the context columns."""
    words = text.transform(contexts[PREFIX].to_pylist(), threads=threads)
    extra = sparse.csr_matrix(columns.matrix(contexts))
    return sparse.csr_matrix(sparse.hstack([words, extra], format="csr", dtype=np.float32))
