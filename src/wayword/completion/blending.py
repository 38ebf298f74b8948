"""Blending: combines two lists of completions, for example by probability and by utility.

`blend` is reciprocal-rank fusion. The score of a query in a context is

    (1 − weight) / (position in one + 1)  +  weight / (position in the other + 1)

with 0 for a list without the query. It uses ranks only, so the scores of the lists need not be comparable.
"""

import numpy as np

from wayword.completion.candidates import Candidates
from wayword.errors import WaywordError


def blend(one: Candidates, other: Candidates, weight: float, k: int) -> Candidates:
    """Return the best k of both lists for each context, ties by query number, without scores of 0.

    Weight 0 gives the first k of `one` in their order, weight 1 those of `other`.

    >>> one = Candidates(np.array([0, 0]), np.array([7, 4]), np.array([2.0, 1.0]))
    >>> other = Candidates(np.array([0, 0]), np.array([4, 9]), np.array([2.0, 1.0]))
    >>> blended = blend(one, other, 0.5, k=3)
    >>> list(zip(blended.query.tolist(), blended.score.tolist()))
    [(4, 0.75), (7, 0.5), (9, 0.25)]
    """
    if not 0 <= weight <= 1:
        raise WaywordError(f"Found weight = {weight}; expected a number between 0 and 1.")
    shares = ((one, 1 - weight), (other, weight))
    score = np.concatenate([share / (lists.position() + 1) for lists, share in shares])
    context = np.concatenate([lists.context for lists, _ in shares]).astype(np.int64)
    query = np.concatenate([lists.query for lists, _ in shares]).astype(np.int64)
    width = 1 + int(query.max(initial=0))
    pairs, member = np.unique(context * width + query, return_inverse=True)
    total = np.bincount(member, weights=score, minlength=len(pairs)).astype(np.float32)
    kept = total > 0
    pairs, total = pairs[kept], total[kept]
    return Candidates.sorted((pairs // width).astype(np.int32), (pairs % width).astype(np.int32), total).top(
        k
    )


def mix_acceptance(
    useful: Candidates, also: Candidates, probable: Candidates, acceptance: float
) -> Candidates:
    """Rank queries by utility and acceptance, ties by query number. The score of a query is

        (1 − acceptance) · utility/best utility + acceptance · probability/best probability

    The scores of `useful` and `also` are utilities, those of `probable` probabilities that the query is intended.

    >>> rows = lambda q, s: Candidates(np.zeros(len(q), np.int32), np.array(q, np.int32), np.array(s, np.float32))
    >>> dial = lambda share: mix_acceptance(rows([7, 4], [2, 1]), rows([9], [0.5]), rows([9, 4], [0.6, 0.3]), share)
    >>> dial(0.0).query.tolist(), dial(1.0).query.tolist(), dial(0.5).query.tolist()
    ([7, 4, 9], [9, 4, 7], [9, 4, 7])
    """
    if not 0 <= acceptance <= 1:
        raise WaywordError(f"Found acceptance = {acceptance}; expected a number between 0 and 1.")
    context = np.concatenate([useful.context, also.context, probable.context]).astype(np.int64)
    query = np.concatenate([useful.query, also.query, probable.query]).astype(np.int64)
    width = 1 + int(query.max(initial=0))
    pairs, first, member = np.unique(context * width + query, return_index=True, return_inverse=True)
    cut = len(useful.query) + len(also.query)
    owner = pairs // width
    utility, probability = np.zeros(len(pairs)), np.zeros(len(pairs))
    np.maximum.at(utility, member[:cut], np.concatenate([useful.score, also.score]))
    np.maximum.at(probability, member[cut:], probable.score)
    contexts = 1 + int(context.max(initial=-1))
    score = np.zeros(len(pairs))
    for value, share in ((utility, 1 - acceptance), (probability, acceptance)):
        best = np.zeros(contexts)
        np.maximum.at(best, owner, value)
        score += share * value / np.maximum(best, 1e-300)[owner]
    sources = [
        c.source if c.source is not None else np.zeros(len(c.query), np.int8)
        for c in (useful, also, probable)
    ]
    return Candidates.sorted(
        owner.astype(np.int32),
        (pairs % width).astype(np.int32),
        score.astype(np.float32),
        np.concatenate(sources)[first],
    )
