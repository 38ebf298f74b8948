"""Arrays that are memory-mapped and passed to compiled code, which does not check its indices.

An index outside an array ends the process, or reads other memory. So every array that others are indexed by is checked
once when it is mapped: a damaged file is an error, never a crash.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


def load_array(
    path: Path, dtype: DTypeLike, *, shape: tuple[int, ...] | None = None, below: int | None = None
) -> NDArray[Any]:
    """Map the array of a .npy file into memory; see `check_numbers` for `below`."""
    array = np.load(path, mmap_mode="c", allow_pickle=False)
    if array.dtype != np.dtype(dtype):
        raise ValueError(f"found {array.dtype} in {path.name}, expected {np.dtype(dtype)}")
    if shape is not None and array.shape != shape:
        raise ValueError(f"found an array of shape {array.shape} in {path.name}, expected {shape}")
    if below is not None:
        check_numbers(array, below)
    return np.asarray(array)


def check_numbers(numbers: NDArray[Any], below: int) -> None:
    """Raise `ValueError` unless all are from 0 to `below` - 1.

    >>> check_numbers(np.array([0, 3]), 4)
    >>> check_numbers(np.array([0, 4]), 4)
    Traceback (most recent call last):
    ValueError: found numbers from 0 to 4, expected 0 to 3
    """
    if len(numbers) and (numbers.ndim != 1 or numbers.min() < 0 or numbers.max() >= below):
        raise ValueError(f"found numbers from {numbers.min()} to {numbers.max()}, expected 0 to {below - 1}")


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A plain view that cannot be written to: kernels are compiled for one kind of array, built or mapped."""
    view = np.asarray(array).view()
    view.setflags(write=False)
    return view
