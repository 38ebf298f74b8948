"""The protocol of text encoders. Members: `features.light`, `features.transformer`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from wayword.errors import WorkspaceError

SETTINGS = "encoder.json"


class Encoder(Protocol):
    """Maps a text to a vector of length 1, or of zeros for a text without known features."""

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, independent of the batch, bit for bit. For prefixes at serving."""
        ...

    def encode_stored(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, in fast batches. For queries, which are encoded once and stored."""
        ...

    def save(self, folder: Path) -> None:
        """Write the folder that `load_encoder` reads."""
        ...


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Divide rows by their length; a row of zeros stays.

    The length is computed in float64, so that it is the same on every processor.

    >>> unit(np.array([[3.0, 4.0], [0.0, 0.0]], dtype=np.float32)).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    wide = vectors.astype(np.float64)
    length = np.sqrt(np.einsum("ij,ij->i", wide, wide))[:, None]
    return np.divide(wide, length, out=np.zeros_like(wide), where=length > 0).astype(np.float32)


def read_settings(path: Path) -> dict[str, Any]:
    """Read a JSON object; an error names the file."""
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise WorkspaceError(f"Cannot read {path}: {problem}. Train the ranker again.") from problem
    if not isinstance(settings, dict):
        raise WorkspaceError(
            f"Found {type(settings).__name__} in {path}; expected an object. Train the ranker again."
        )
    return settings


def read_array(path: Path) -> NDArray[Any]:
    """Map an array into memory; an error names the file."""
    try:
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as problem:
        raise WorkspaceError(f"Cannot read {path}: {problem}. Train the ranker again.") from problem
    return np.asarray(mapped)
