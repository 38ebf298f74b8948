"""Survival: of those who intend a query, the share that has taken nothing from the lists of shorter texts.

Who types "thun" has seen the lists for "t", "th" and "thu" and has taken nothing from them. Most of those who were
shown their query there are gone: the list for "thun" is for the others. So P(q̄ | x) counts

    searches of q̄ · max((Π P(nothing is taken from the list of a shorter text | q̄)) ^ `DAMPING`, `INATTENTIVE`)

The lists of texts of up to `LONGEST` characters count: longer ones change little, and there are many of them. The
product is damped because people may differ from the model, and because somebody who has decided about a suggestion does
not decide anew at each letter; and some look at no list until they have typed more.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from wayword.completion.list_policy import ListPolicy
from wayword.logs.contexts import from_prefixes
from wayword.text import cut_ends

LONGEST, DAMPING, INATTENTIVE = 4, 0.5, 0.25
TEXTS_AT_ONCE = 4096


def with_survival(policy: ListPolicy, queries: Sequence[str] | None = None) -> ListPolicy:
    """Return the policy with the survival that its own lists for short texts cause.

    The lists of a text depend on those of shorter ones, so it is computed from the shortest texts on: those on the way
    to `queries`, by default to all that can be typed.
    """
    texts = policy.retriever.texts
    typed = [texts[number] for number in policy.retriever.matcher.matchable] if queries is None else queries
    survival = np.ones((len(texts), LONGEST), np.float32)
    for length, of_length in enumerate(texts_by_length(typed)):
        survival[:, length] = survival[:, max(length - 1, 0)]
        policy = replace(policy, survival=survival)
        for first in range(0, len(of_length), TEXTS_AT_ONCE):
            part = of_length[first : first + TEXTS_AT_ONCE]
            query, declined = policy.declined(from_prefixes(part))
            survival[query, length] *= declined**DAMPING
        survival[:, length] = np.maximum(survival[:, length], INATTENTIVE)
    return policy


def texts_by_length(queries: Sequence[str]) -> list[list[str]]:
    """Return the texts on the way to these queries of 1, 2, … `LONGEST` characters.

    >>> texts_by_length(["tv set", "tx"])
    [['t'], ['tv'], [], ['tv s']]
    """
    found: list[dict[str, None]] = [{} for _ in range(LONGEST)]
    for start in dict.fromkeys(query[: LONGEST + 1] for query in queries):
        for end in cut_ends(start):
            if end <= LONGEST:
                found[end - 1][start[:end]] = None
    return [list(of_length) for of_length in found]
