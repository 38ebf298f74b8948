"""Selection: the k-th smallest of some values, in compiled code. Numba's `np.partition` takes seconds to compile."""

from typing import Any

from wayword.numba_jit import compiled


@compiled
def kth_smallest(values: Any, k: int) -> Any:
    """Return the value that sorting would put at position k, and reorder the values (Hoare's quickselect).

    >>> import numpy as np
    >>> kth_smallest(np.array([3.0, 1.0, 2.0, 1.0]), 2)
    2.0
    """
    low, high = 0, len(values) - 1
    while low < high:
        pivot, left, right = values[(low + high) // 2], low, high
        while left <= right:
            while values[left] < pivot:
                left += 1
            while pivot < values[right]:
                right -= 1
            if left <= right:
                values[left], values[right] = values[right], values[left]
                left += 1
                right -= 1
        if k <= right:
            high = right
        elif k >= left:
            low = left
        else:
            return values[k]
    return values[k]
