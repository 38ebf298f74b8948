"""Arrays that are mapped from disk and handed to compiled code, which trusts what it is given.

An index that points outside ends the process, or worse, reads what is not meant. So every array that others are
indexed by is looked over once when it is mapped: a damaged file is an error, never a crash.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


def mapped(path: Path, dtype: DTypeLike) -> NDArray[Any]:
    """The array of a .npy file, which stays on disk until it is used."""
    found = np.load(path, mmap_mode="c", allow_pickle=False)
    if found.dtype != np.dtype(dtype):
        raise ValueError(f"found {found.dtype} in {path.name}, expected {np.dtype(dtype)}")
    return np.asarray(found)


def check_starts(starts: NDArray[Any], size: int) -> None:
    """Raise `ValueError` unless these cut an array of that size into rows.

    >>> check_starts(np.array([0, 2, 5]), 5)
    >>> check_starts(np.array([0, 7, 5]), 5)
    Traceback (most recent call last):
    ValueError: found rows that do not follow each other from 0 to 5
    """
    if (
        starts.ndim != 1
        or not len(starts)
        or starts[0] != 0
        or starts[-1] != size
        or (len(starts) > 1 and (starts[1:] < starts[:-1]).any())
    ):
        raise ValueError(f"found rows that do not follow each other from 0 to {size}")


def check_numbers(numbers: NDArray[Any], below: int) -> None:
    """Raise `ValueError` unless all are from 0 to `below` - 1.

    >>> check_numbers(np.array([0, 3]), 4)
    >>> check_numbers(np.array([0, 4]), 4)
    Traceback (most recent call last):
    ValueError: found numbers from 0 to 4, expected 0 to 3
    """
    if len(numbers) and (numbers.ndim != 1 or numbers.min() < 0 or numbers.max() >= below):
        raise ValueError(f"found numbers from {numbers.min()} to {numbers.max()}, expected 0 to {below - 1}")
