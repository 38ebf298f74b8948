"""The built-in encoder: hashed character n-grams, idf, SVD, unit length. It is small and needs no download."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.errors import WorkspaceError
from wayword.paper.features.encoder import (
    SETTINGS,
    read_array,
    read_settings,
    unit,
)

BUCKETS = 1 << 16
"""Number of columns into which n-grams are hashed."""
NGRAMS = (2, 4)
"""Shortest and longest n-gram. Words are padded with spaces, so a single letter has three n-grams."""
MAX_TEXTS = 200_000
"""The projection is fitted to at most this many distinct texts, sampled at random."""
ITERATIONS = 4
"""Power iterations of the randomised SVD."""
QUANTUM = 2.0**-14
"""The projection is rounded to multiples of this. The last bits of an SVD differ between processors, and sums of such
multiples are exact in float32 in any order."""
PROJECTION = "projection.npy"


@cache
def _vectorizer() -> Any:
    from sklearn.feature_extraction.text import HashingVectorizer

    return HashingVectorizer(
        analyzer="char_wb",
        ngram_range=NGRAMS,
        n_features=BUCKETS,
        alternate_sign=False,
        norm=None,
        lowercase=False,
        dtype=np.float32,
    )


@dataclass(frozen=True)
class LightEncoder:
    """`projection[bucket]` is the vector that an n-gram adds to a text: its idf times its coordinates in the SVD."""

    projection: NDArray[np.float32]

    @classmethod
    def fit(cls, texts: Sequence[str], dimensions: int, seed: int) -> "LightEncoder":
        """Fit to the distinct texts, in any order. Dimensions above the rank are zero."""
        from sklearn.utils.extmath import randomized_svd
        from threadpoolctl import threadpool_limits

        distinct = sorted(set(texts))
        projection = np.zeros((BUCKETS, dimensions), dtype=np.float32)
        if not distinct:
            return cls(projection)
        if len(distinct) > MAX_TEXTS:
            chosen = np.random.default_rng(seed).choice(len(distinct), MAX_TEXTS, replace=False)
            distinct = [distinct[i] for i in np.sort(chosen)]
        counts = _vectorizer().transform(distinct).astype(np.float64)
        seen = np.bincount(counts.indices, minlength=BUCKETS)
        idf = np.log((1 + len(distinct)) / (1 + seen)) + 1
        counts.data *= idf[counts.indices]
        with threadpool_limits(1):  # the same bits with any number of cores
            _, strength, axes = randomized_svd(
                counts, min(dimensions, len(distinct)), n_iter=ITERATIONS, random_state=seed
            )
        real = np.flatnonzero(strength > 1e-5 * strength[0])  # the others are rounding noise
        projection[:, real] = np.round((axes[real] * idf).T / QUANTUM) * QUANTUM
        return cls(projection)

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return int(self.projection.shape[1])

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text. Rows are summed independently, so a row has the same bits in any batch."""
        if not len(texts):
            return np.zeros((0, self.dimensions), dtype=np.float32)
        return unit(np.ascontiguousarray(_vectorizer().transform(texts) @ self.projection))

    def encode_stored(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Do as `encode`."""
        return self.encode(texts)

    def save(self, folder: Path) -> None:
        """Write `encoder.json` and `projection.npy`."""
        folder.mkdir(parents=True, exist_ok=True)
        settings = {"kind": "light", "ngrams": NGRAMS, "buckets": BUCKETS}
        (folder / SETTINGS).write_text(json.dumps(settings), encoding="utf-8")
        np.save(folder / PROJECTION, self.projection, allow_pickle=False)

    @classmethod
    def load(cls, folder: Path) -> "LightEncoder":
        """Map the folder that `save` wrote into memory."""
        settings = read_settings(folder / SETTINGS)
        projection = read_array(folder / PROJECTION)
        found = (settings.get("ngrams"), settings.get("buckets"), projection.ndim, len(projection))
        if found != (list(NGRAMS), BUCKETS, 2, BUCKETS) or projection.dtype != np.float32:
            raise WorkspaceError(
                f"{folder} holds an encoder of another version: (n-grams, buckets, axes, rows) = {found}, "
                f"expected {(list(NGRAMS), BUCKETS, 2, BUCKETS)}. Train the ranker again."
            )
        return cls(projection)
