"""Arrays about every query for the features, computed once and memory-mapped."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wayword import text_arrays as of
from wayword.errors import WorkspaceError
from wayword.paper.features.encoder import Encoder, read_array
from wayword.store.compressed_rows import CompressedRows


@dataclass(frozen=True)
class Queries:
    """Row i of every array is about query i. Trigrams and words are sorted indices into their vocabularies."""

    characters: CompressedRows
    trigrams: CompressedRows
    words: CompressedRows
    trigram_vocabulary: NDArray[np.int64]
    word_vocabulary: NDArray[np.int64]
    word_counts: NDArray[np.int64]
    log_popularity: NDArray[np.float32]
    vectors: NDArray[np.float32]

    @classmethod
    def build(cls, texts: Sequence[str], popularity: NDArray[np.float64], encoder: Encoder) -> "Queries":
        """Build from the normalised texts and their search counts (log1p is taken here)."""
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
        """Write one or two .npy files per field."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, value in vars(self).items():
            if isinstance(value, CompressedRows):
                value.save(folder, name)
            else:
                np.save(folder / f"{name}.npy", value, allow_pickle=False)

    @classmethod
    def load(cls, folder: Path) -> "Queries":
        """Map the folder that `save` wrote into memory."""
        arrays = {
            field.name: read_array(folder / f"{field.name}.npy")
            for field in fields(cls)
            if field.type is not CompressedRows
        }
        rows, *others = (len(arrays[name]) for name in ("vectors", "word_counts", "log_popularity"))
        try:
            if others != [rows, rows]:
                raise ValueError(f"found {others} rows, expected {rows}")
            characters = CompressedRows.load(folder, "characters", np.uint32, rows=rows)
            trigrams, words = (
                CompressedRows.load(folder, f"{kind}s", below=len(arrays[f"{kind}_vocabulary"]), rows=rows)
                for kind in ("trigram", "word")
            )
        except (OSError, ValueError, EOFError) as problem:
            raise WorkspaceError(
                f"The arrays in {folder} do not belong together: {problem}. Train the ranker again."
            ) from problem
        return cls(characters, trigrams, words, **arrays)
