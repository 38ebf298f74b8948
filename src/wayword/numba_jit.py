"""Just-in-time compilation of functions over arrays with Numba, cached on disk."""

from collections.abc import Callable
from typing import TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """Compile with Numba on first call; the function releases the GIL.

    Where Numba has no writable cache folder, each process compiles again.

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
    except RuntimeError:  # no writable cache folder
        result = numba.njit(nogil=True)(function)
    return result
