"""Groups of prefixes that are completed by the same queries, and so share a completion list."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from wayword.text import LONGEST_CUT, cut_ends


@dataclass(frozen=True)
class PrefixGroups:
    """Prefix `typed[i]` belongs to group `group[i]`, which `example[group[i]]` represents."""

    typed: list[str]
    group: NDArray[np.int64]
    example: list[str]


def group_prefixes(texts: Sequence[str]) -> PrefixGroups:
    """Group all prefixes, cut between graphemes, of sorted, distinct texts, the texts included.

    Prefixes of the same texts are one group. A whole text is a group of its own, because a query that is already typed
    is not suggested.

    >>> groups = group_prefixes(["tv", "tv stand", "tv stands"])
    >>> [(typed, groups.example[group]) for typed, group in zip(groups.typed, groups.group, strict=True)]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('t', 't'), ('tv', 'tv'), ('tv s', 'tv s'), ('tv st', 'tv s'), ('tv sta', 'tv s'), ('tv stan', 'tv s'),
     ('tv stand', 'tv stand'), ('tv stands', 'tv stands')]
    """
    shared = np.array([0, *(_shared(one, other) for one, other in pairwise(texts)), 0])
    fewer = _next_smaller(shared)
    typed, group, example = list[str](), list[int](), list[str]()
    for i, text in enumerate(texts):
        new = [end for end in cut_ends(text) if end > shared[i]]
        if len(text) <= LONGEST_CUT:
            new.append(len(text))
        after, before = i + 1, None
        for end in reversed(new):
            while after < len(texts) and shared[after] >= end:
                after = fewer[after]
            these = (after, end == len(text))
            if these != before:
                example.append(text[:end])
                before = these
            typed.append(text[:end])
            group.append(len(example) - 1)
    order = sorted(range(len(typed)), key=typed.__getitem__)
    return _in_order([typed[i] for i in order], np.array(group, np.int64)[order])


def _shared(one: str, other: str) -> int:
    """Length of the common prefix."""
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return place
    return min(len(one), len(other))


def _next_smaller(values: NDArray[np.int64]) -> list[int]:
    """For each position, the next position with a smaller value, or the end."""
    following, waiting = [len(values)] * len(values), list[int]()
    for place, value in enumerate(values.tolist()):
        while waiting and values[waiting[-1]] > value:
            following[waiting.pop()] = place
        waiting.append(place)
    return following


def _in_order(typed: list[str], group: NDArray[np.int64]) -> PrefixGroups:
    """Number groups in the order of their first prefixes, which represent them."""
    _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    return PrefixGroups(typed, rank[inverse], [typed[i] for i in np.sort(first).tolist()])
