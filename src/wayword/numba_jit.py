"""Functions over arrays that are compiled to machine code when they are first called, and kept on disk after that."""

from collections.abc import Callable
from typing import TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """Compile with Numba; the function releases the interpreter's lock, so threads may share the work.

    Where nothing can be written beside the code or in the home folder, it is compiled anew in each process.

    >>> import numpy as np
    >>> @compiled
    ... def total(values):
    ...     result = 0.0
    ...     for value in values:
    ...         result += value
    ...     return result
    >>> total(np.array([1.0, 2.0]))
    3.0
    """
    try:
        result: Function = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no place for the cache
        result = numba.njit(nogil=True)(function)
    return result
