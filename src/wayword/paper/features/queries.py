"""What the features need to know of every query, computed once and memory-mapped."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword import text_arrays as of
from wayword.errors import WorkspaceError
from wayword.paper.features.encoder import Encoder, read_array
from wayword.store.compressed_rows import Ragged


@dataclass(frozen=True)
class Queries:
    """Row i of every array is about query i. Trigrams and words are sorted places in their vocabularies."""

    characters: Ragged
    trigrams: Ragged
    words: Ragged
    trigram_vocabulary: NDArray[np.int64]
    word_vocabulary: NDArray[np.int64]
    word_counts: NDArray[np.int64]
    log_popularity: NDArray[np.float32]
    vectors: NDArray[np.float32]

    @classmethod
    def build(cls, texts: Sequence[str], popularity: NDArray[np.float64], encoder: Encoder) -> "Queries":
        """From the normalised texts and how often each was searched (log1p is taken here)."""
        if len(popularity) != len(texts):
            raise ValueError(f"{len(popularity)} popularities for {len(texts)} queries")
        characters = of.characters(texts)
        trigrams, words = of.trigrams(characters), of.words(texts)
        trigram_vocabulary, word_vocabulary = np.unique(trigrams.values), np.unique(words.values)
        return cls(
            characters,
            trigrams.numbered(trigram_vocabulary),
            words.numbered(word_vocabulary),
            trigram_vocabulary,
            word_vocabulary,
            of.word_counts(texts),
            np.log1p(np.asarray(popularity, dtype=np.float64)).astype(np.float32),
            encoder.encode_stored(texts),
        )

    def __len__(self) -> int:
        return len(self.vectors)

    def save(self, folder: Path) -> None:
        """One or two .npy files per field."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, value in vars(self).items():
            parts = vars(value) if isinstance(value, Ragged) else {"": value}
            for part, array in parts.items():
                np.save(folder / _file(name, part), array, allow_pickle=False)

    @classmethod
    def load(cls, folder: Path) -> "Queries":
        """Map what `save` wrote into memory."""
        loaded: dict[str, Any] = {}
        for field in fields(cls):
            if field.type is Ragged:
                values, starts = (
                    read_array(folder / _file(field.name, part)) for part in ("values", "starts")
                )
                loaded[field.name] = Ragged(values, starts)
            else:
                loaded[field.name] = read_array(folder / _file(field.name, ""))
        queries = cls(**loaded)
        queries._check(folder)
        return queries

    def _check(self, folder: Path) -> None:
        ragged = (self.characters, self.trigrams, self.words)
        rows = {len(self.vectors), len(self.word_counts), len(self.log_popularity)}
        rows |= {len(row.starts) - 1 for row in ragged}
        whole = all(row.starts[0] == 0 and row.starts[-1] == len(row.values) for row in ragged)
        if len(rows) != 1 or not whole:
            raise WorkspaceError(f"The arrays in {folder} do not belong together. Train the ranker again.")


def _file(name: str, part: str) -> str:
    return f"{name}.{part}.npy" if part else f"{name}.npy"
