"""Blending: combines two lists of completions, here by probability and by utility.

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
