"""Arrays that are memory-mapped and passed to compiled code, which does not check its indices.

An index outside an array ends the process, or reads other memory. So every array that others are indexed by is checked
once when it is mapped: a damaged file is an error, never a crash.
"""

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


def load_array(
    path: Path, dtype: DTypeLike, *, shape: tuple[int, ...] | None = None, below: int | None = None
) -> NDArray[Any]:
    """Map the array of a .npy file into memory; see `check_numbers` for `below`."""
    if not path.is_file():  # a named pipe would keep the reader waiting
        raise FileNotFoundError(errno.ENOENT, "expected a file", str(path))
    array = np.load(path, mmap_mode="c", allow_pickle=False)
    if array.dtype != np.dtype(dtype):
        raise ValueError(f"found {array.dtype} in {path.name}, expected {np.dtype(dtype)}")
    if shape is not None and array.shape != shape:
        raise ValueError(f"found an array of shape {array.shape} in {path.name}, expected {shape}")
    if below is not None:
        check_numbers(array, below)
    return np.asarray(array)


def save_array(path: Path, array: NDArray[Any]) -> None:
    """Write a .npy file; an array that is a whole mapped file gives it another name instead (a hard link).

    So the data of an index that are those of an artefact are on disk once. Deleting one name leaves the other. The old
    file of that name, if any, is not written to: it may be mapped, or have other names.
    """
    path.unlink(missing_ok=True)
    if not _link(path, array):
        np.save(path, array, allow_pickle=False)


def _link(path: Path, array: NDArray[Any]) -> bool:
    """Link to the file that an array maps, if there is one with the same content on the same file system."""
    source = _mapped_file(array)
    if source is None:
        return False
    try:
        os.link(source, path)
        stored = np.load(path, mmap_mode="r", allow_pickle=False)
        if stored.dtype == array.dtype and np.array_equal(_bytes(stored), _bytes(array)):
            return True
    except (OSError, ValueError):  # another file system, no permission, too many links, or no file any more
        pass
    path.unlink(missing_ok=True)
    return False


def _mapped_file(array: NDArray[Any]) -> Path | None:
    """The file of which an array is a whole, contiguous view."""
    base: Any = array
    while base is not None and not isinstance(base, np.memmap):
        base = getattr(base, "base", None)
    if base is None or base.filename is None or not array.flags.c_contiguous:
        return None
    whole = array.ctypes.data == base.ctypes.data and array.shape == base.shape and array.dtype == base.dtype
    return Path(base.filename) if whole else None


def _bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    return np.asarray(array).reshape(-1).view(np.uint8)


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
