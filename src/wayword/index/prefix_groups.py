"""Known texts: every beginning of every query, and which of them may become the same queries, so share a list."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from wayword.text import LONGEST_CUT, cut_ends


@dataclass(frozen=True)
class PrefixGroups:
    """`typed[i]` belongs to the group `group[i]`, of which `example[group[i]]` is one."""

    typed: list[str]
    group: NDArray[np.int64]
    example: list[str]


def group_prefixes(texts: Sequence[str]) -> PrefixGroups:
    """All beginnings of sorted, distinct texts, cut between graphemes, and the texts themselves.

    Two beginnings of the same texts are one group. A text that others go on from is a group of its own: what is
    already typed is not suggested.

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
            alone = after == i + 1
            these = (after, end == len(text) and not alone)
            if these != before:
                example.append(text[:end])
                before = these
            typed.append(text[:end])
            group.append(len(example) - 1)
    order = sorted(range(len(typed)), key=typed.__getitem__)
    return _in_order([typed[i] for i in order], np.array(group, np.int64)[order])


def _shared(one: str, other: str) -> int:
    """How many first characters are the same."""
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return place
    return min(len(one), len(other))


def _next_smaller(values: NDArray[np.int64]) -> list[int]:
    """For each place, the next one with a smaller value; the end where there is none."""
    found, waiting = [len(values)] * len(values), list[int]()
    for place, value in enumerate(values.tolist()):
        while waiting and values[waiting[-1]] > value:
            found[waiting.pop()] = place
        waiting.append(place)
    return found


def _in_order(typed: list[str], group: NDArray[np.int64]) -> PrefixGroups:
    """Groups numbered as their first texts come, which stand for them."""
    _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    return PrefixGroups(typed, rank[inverse], [typed[i] for i in np.sort(first).tolist()])
