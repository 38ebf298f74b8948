"""Result pages: the first results of each query, with titles and examination probabilities, for display."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wayword.store.arrays import load_array
from wayword.store.compressed_rows import WeightedRows
from wayword.store.strings import Strings

LONGEST = 10
"""Number of results stored per query."""


class Document(NamedTuple):
    """The document id of the search engine, and the title, if there is one."""

    document: str
    title: str | None


class Result(NamedTuple):
    """A result of a query: document number, rank, and exposure (examination probability at that rank)."""

    number: int
    rank: int
    exposure: float


@dataclass(frozen=True)
class Pages:
    """Row q of `results` has the documents of query q, best rank first, with their exposures."""

    results: WeightedRows
    rank: NDArray[np.int32]
    names: Strings
    titles: Strings

    @classmethod
    def of(
        cls,
        returned: WeightedRows,
        rankings: pa.Table,
        documents: pa.Table,
        queries: int,
        kept: NDArray[np.bool_],
    ) -> "Pages":
        """Build the pages of the `kept` queries from the exposures `returned` (documents × queries) and the same
        pairs with ranks, `rankings`."""
        exposures = csr_array(returned.matrix(queries).T.tocsr())
        exposures.sort_indices()
        query, document, rank = (rankings[name].to_numpy() for name in ("query", "document", "rank"))
        by_pair = np.lexsort((document, query))
        best_first = np.lexsort((rank[by_pair], query[by_pair]))
        query, document, rank = (part[by_pair][best_first] for part in (query, document, rank))
        first = np.searchsorted(query, np.arange(queries + 1))
        chosen = (np.arange(len(query)) - first[query] < LONGEST) & kept[query]
        return cls(
            WeightedRows(
                np.searchsorted(query[chosen], np.arange(queries + 1)).astype(np.int64),
                document[chosen].astype(np.int32),
                exposures.data[best_first][chosen].astype(np.float32),
            ),
            rank[chosen].astype(np.int32),
            Strings.of(documents["document_id"].to_pylist()),
            Strings.of(title or "" for title in documents["title"].to_pylist()),
        )

    def save(self, folder: Path) -> None:
        """Write the files that `load` maps into memory."""
        folder.mkdir()
        self.results.save(folder, "results")
        np.save(folder / "rank.npy", self.rank, allow_pickle=False)
        self.names.save(folder, "names")
        self.titles.save(folder, "titles")

    @classmethod
    def load(cls, folder: Path, queries: int) -> "Pages":
        """Map the files of `save` into memory."""
        names = Strings.load(folder, "names")
        results = WeightedRows.load(folder, "results", below=len(names), rows=queries)
        rank = load_array(folder / "rank.npy", np.int32, shape=results.values.shape)
        return cls(results, rank, names, Strings.load(folder, "titles", len(names)))

    def of_query(self, query: int) -> Iterator[Result]:
        """The results of a query, best rank first."""
        at, results = self.results.span(query), self.results
        rows = zip(
            results.values[at].tolist(), self.rank[at].tolist(), results.weights[at].tolist(), strict=True
        )
        return (Result(*row) for row in rows)

    def document(self, number: int) -> Document:
        """The document with this number."""
        return Document(self.names[number], self.titles[number] or None)
