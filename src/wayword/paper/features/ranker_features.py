"""Features of (context, query) pairs, computed by the same code in training and in serving.

No search may contribute to its own features: give `build` a popularity counted on other searches than those of the
training pairs (the retriever's split, for a ranker trained on the ranker's split).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wayword import text_arrays as of
from wayword.completion.candidates import Candidates
from wayword.errors import WorkspaceError
from wayword.logs.contexts import PREFIX, ContextColumns
from wayword.paper.features import load_encoder
from wayword.paper.features.encoder import Encoder, read_settings
from wayword.paper.features.queries import Queries
from wayword.store.compressed_rows import CompressedRows, shared

PAIR_FEATURES = (
    "prefix_characters",
    "prefix_words",
    "query_characters",
    "query_words",
    "characters_to_type",  # all of them if the query does not start with the prefix
    "starts_with",
    "shared_words",  # share of the prefix's distinct words that are words of the query
    "trigram_containment",  # share of the prefix's trigrams that the query has: 1 if it starts with it
    "trigram_jaccard",
    "log_popularity",
    "retriever_score",
    "retriever_position",  # 1 / position, counted from 1
    "cosine",
)
CHUNK = 1 << 16
"""Pairs compared at a time. It bounds memory and does not change the result."""


@dataclass(frozen=True)
class _Prefixes:
    """The prefixes of a table of contexts, prepared as `Queries` prepares the queries."""

    characters: CompressedRows
    trigrams: CompressedRows
    trigram_counts: NDArray[np.int64]
    words: CompressedRows
    distinct_words: NDArray[np.int64]
    word_counts: NDArray[np.int64]
    vectors: NDArray[np.float32]

    @classmethod
    def of(cls, prefixes: Sequence[str], queries: Queries, encoder: Encoder) -> "_Prefixes":
        characters = of.characters(prefixes)
        trigrams, words = of.trigrams(characters), of.words(prefixes)
        return cls(
            characters,
            trigrams.numbered(queries.trigram_vocabulary),
            trigrams.lengths,
            words.numbered(queries.word_vocabulary),
            words.lengths,
            of.word_counts(prefixes),
            encoder.encode(prefixes),
        )


@dataclass(frozen=True)
class Featuriser:
    """Computes the ranker's feature matrix from contexts and their candidates."""

    queries: Queries
    encoder: Encoder
    columns: ContextColumns

    @classmethod
    def build(
        cls,
        queries: Sequence[str],
        popularity: NDArray[np.float64],
        encoder: Encoder,
        columns: ContextColumns,
    ) -> "Featuriser":
        """Build from normalised queries; query number i of the candidates is `queries[i]`."""
        return cls(Queries.build(queries, popularity, encoder), encoder, columns)

    @property
    def names(self) -> list[str]:
        """Names of the columns of the matrix."""
        places = range(self.encoder.dimensions)
        values = [f"{column}={value}" for column, known in self.columns.categories.items() for value in known]
        return [
            *PAIR_FEATURES,
            *(f"prefix_vector_{i}" for i in places),
            *(f"query_vector_{i}" for i in places),
            *values,
            *self.columns.scales,
        ]

    def features(self, contexts: pa.Table, candidates: Candidates) -> NDArray[np.float32]:
        """Return one row per candidate. The bits of a row do not depend on other contexts; no value is NaN."""
        texts = contexts[PREFIX].to_pylist()
        number = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        prefixes = _Prefixes.of(list(number), self.queries, self.encoder)
        prefix_of_context = np.fromiter((number[text] for text in texts), dtype=np.int64, count=len(texts))
        extra = np.nan_to_num(self.columns.matrix(contexts), nan=0.0)
        position = 1 / (1 + candidates.position())
        dimensions = self.encoder.dimensions
        result = np.empty((len(candidates.query), len(self.names)), dtype=np.float32)
        for start in range(0, len(result), CHUNK):
            rows = slice(start, start + CHUNK)
            context, query = candidates.context[rows], candidates.query[rows].astype(np.int64)
            prefix = prefix_of_context[context]
            prefix_vector, query_vector = prefixes.vectors[prefix], self.queries.vectors[query]
            pair = [
                *self._comparisons(prefixes, prefix, query),
                self.queries.log_popularity[query],
                candidates.score[rows],
                position[rows],
                np.einsum("ij,ij->i", prefix_vector, query_vector),
            ]
            for column, values in enumerate(pair):
                result[rows, column] = values
            after = len(pair)
            result[rows, after : after + dimensions] = prefix_vector
            result[rows, after + dimensions : after + 2 * dimensions] = query_vector
            result[rows, after + 2 * dimensions :] = extra[context]
        return result

    def _comparisons(
        self, prefixes: _Prefixes, prefix: NDArray[np.int64], query: NDArray[np.int64]
    ) -> list[NDArray[np.float64]]:
        """Return the first nine features, which compare the two texts."""
        queries = self.queries
        offsets = queries.characters.offsets
        typed, length = prefixes.characters.lengths[prefix], offsets[query + 1] - offsets[query]
        begins = of.begins(prefixes.characters, queries.characters, prefix, query)
        common_words = shared(prefixes.words, queries.words, prefix, query, span=len(queries.word_vocabulary))
        common = shared(
            prefixes.trigrams, queries.trigrams, prefix, query, span=len(queries.trigram_vocabulary)
        )
        of_prefix = prefixes.trigram_counts[prefix]
        of_query = queries.trigrams.offsets[query + 1] - queries.trigrams.offsets[query]
        return [
            typed,
            prefixes.word_counts[prefix],
            length,
            queries.word_counts[query],
            np.where(begins, length - typed, length),
            begins,
            common_words / np.maximum(prefixes.distinct_words[prefix], 1),
            common / np.maximum(of_prefix, 1),
            common / np.maximum(of_prefix + of_query - common, 1),
        ]

    def save(self, folder: Path) -> None:
        """Write `featuriser.json`, `columns.json` and the folders `queries` and `encoder`."""
        folder.mkdir(parents=True, exist_ok=True)
        self.queries.save(folder / "queries")
        self.encoder.save(folder / "encoder")
        self.columns.save(folder / "columns.json")
        (folder / "featuriser.json").write_text(
            json.dumps({"names": self.names}, ensure_ascii=False, indent=1), encoding="utf-8"
        )

    @classmethod
    def load(cls, folder: Path) -> "Featuriser":
        """Read the folder that `save` wrote; the arrays stay on disk until they are used."""
        names = read_settings(folder / "featuriser.json").get("names")
        columns = ContextColumns.load(folder / "columns.json")
        featuriser = cls(Queries.load(folder / "queries"), load_encoder(folder / "encoder"), columns)
        if names != featuriser.names or featuriser.queries.vectors.shape[1] != featuriser.encoder.dimensions:
            raise WorkspaceError(
                f"{folder} was written with other features than this version computes "
                f"({len(names or [])} found, {len(featuriser.names)} expected). Train the ranker again."
            )
        return featuriser
