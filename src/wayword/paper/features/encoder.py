"""What an encoder of texts can do. Members: `features.light`, `features.transformer`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from wayword.errors import WorkspaceError

SETTINGS = "encoder.json"


class Encoder(Protocol):
    """Text → vector of length 1 (or all zeros for a text of which nothing is known)."""

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row per text, the same bits alone as among others. For prefixes, which are served."""
        ...

    def encode_stored(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row per text, as fast as it goes: for queries, encoded once and stored."""
        ...

    def save(self, folder: Path) -> None:
        """Write what `load_encoder` reads."""
        ...


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows divided by their length, which is computed in float64 so that it is the same on every processor; a row of
    zeros stays.

    >>> unit(np.array([[3.0, 4.0], [0.0, 0.0]], dtype=np.float32)).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    wide = vectors.astype(np.float64)
    length = np.sqrt(np.einsum("ij,ij->i", wide, wide))[:, None]
    return np.divide(wide, length, out=np.zeros_like(wide), where=length > 0).astype(np.float32)


def read_settings(path: Path) -> dict[str, Any]:
    """A JSON object, or an error that names the file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise WorkspaceError(f"Cannot read {path}: {problem}. Train the ranker again.") from problem
    if not isinstance(found, dict):
        raise WorkspaceError(
            f"Found {type(found).__name__} in {path}; expected an object. Train the ranker again."
        )
    return found


def read_array(path: Path) -> NDArray[Any]:
    """A memory-mapped array, or an error that names the file."""
    try:
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as problem:
        raise WorkspaceError(f"Cannot read {path}: {problem}. Train the ranker again.") from problem
    return np.asarray(mapped)
