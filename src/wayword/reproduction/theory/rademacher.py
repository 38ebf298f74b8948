"""The Rademacher complexity of linear rankers on a finite set of contexts, the supremum taken exactly.

    R_n(q, q') = E sup_w 1/n Σ_i ε_i S_w(x_i, q, q')

The definition fixes a pair (q_i, q_i') for each i; the proof of Theorem 1 uses it with the same pair for all i, so
that is what we compute, for every pair of queries. `R_n(F)` is then the worst pair: the smallest number for which the
proof's last step holds for each of its terms.
"""

import numpy as np

from wayword.reproduction.theory.arcs import arcs_of_each
from wayword.reproduction.theory.model import Floats


def suprema(
    rng: np.random.Generator, differences: Floats, share: Floats, *, searches: int, draws: int
) -> Floats:
    """sup[pair, draw] for differences[pair, x, 2] of features: contexts and signs ε drawn anew in each draw.

    Only the sum of the ε of each context matters: c of them sum to 2·Binomial(c, ½) − c.

    >>> one = np.array([[[1.0, 0.0]]])  # one pair, one context: sup |Σ ε| / n, whose mean is ½ at n = 2
    >>> bool(abs(suprema(np.random.default_rng(0), one, np.ones(1), searches=2, draws=4000).mean() - 1 / 2) < 0.03)
    True
    """
    sums = sums_of_signs(rng, share, searches=searches, draws=draws)
    found: Floats = np.max(arcs_of_each(differences) @ sums.T, axis=1) / searches
    return found


def gain_suprema(
    rng: np.random.Generator, law: Floats, worth: Floats, *, searches: int, draws: int
) -> Floats:
    """sup over the arcs of 1/n Σ_i ε_i · worth[kind of search i, arc], for each draw: the gains themselves, before
    the proof takes them apart into pairs and puts B for each difference of û."""
    sums = sums_of_signs(rng, law, searches=searches, draws=draws)
    found: Floats = np.max(sums @ worth, axis=1) / searches
    return found


def sums_of_signs(rng: np.random.Generator, law: Floats, *, searches: int, draws: int) -> Floats:
    """[draw, place]: `searches` random signs, each at a place drawn from `law`, summed at their places."""
    counts = rng.multinomial(searches, law / law.sum(), size=draws)
    return (2 * rng.binomial(counts, 0.5) - counts).astype(np.float64)
