"""Just-in-time compilation of functions over arrays with Numba, cached on disk.

A first run waits for the compiler, so kernels are written for it: they use loops instead of array expressions, sorting
and fancy indexing, whose generic implementations take seconds to compile; and a function gets the same types from all
callers, as each combination is compiled (a literal such as 0 has a type of its own, `np.int64(0)` has not).
"""

from collections.abc import Callable
from typing import TypeVar

import numba
from numba.extending import register_jitable

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
    options = {"nogil": True, "no_cfunc_wrapper": True}
    try:
        result: Function = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no writable cache folder
        result = numba.njit(**options)(function)
    return result


def subroutine(function: Function) -> Function:
    """Compile with the compiled functions that call it; Python calls it as it is.

    It needs no wrapper for Python, which is slow to compile.
    """
    result: Function = register_jitable(function)
    return result
