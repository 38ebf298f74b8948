"""All linear rankers of the plane, exactly, and their Rademacher complexity.

A ranker S_w puts q before q' in context x if w·(φ(x,q) − φ(x,q')) > 0, with w = (cos θ, sin θ). That changes only at
the two angles that are perpendicular to a difference of features, so the unit circle falls into arcs on which no pair
of queries changes its order, and sorting these angles enumerates the class.

    R_n(q, q') = E sup_w 1/n Σ_i ε_i S_w(x_i, q, q')

The definition fixes a pair (q_i, q_i') for each i; the proof of Theorem 1 uses it with the same pair for all i, so
that is computed here, for every pair of queries. `R_n(F)` is then the worst pair: the smallest number for which the
proof's last step holds for each of its terms.
"""

from dataclasses import dataclass

import numpy as np

from wayword.paper.theory.model import Floats, Rng

ROUNDING = 1e-12


@dataclass(frozen=True)
class Arcs:
    """`middle` and `width` of every arc in radians, and signs[arc, ...] = S_w of each difference there, ±1."""

    middle: Floats
    width: Floats
    signs: Floats


def arcs(differences: Floats) -> Arcs:
    """The arcs of the class for differences[..., 2] of features; the last one goes round to the first angle."""
    angles = np.unique(turns(differences))
    after = np.append(angles[1:], angles[0] + 2 * np.pi)
    wide = after - angles > ROUNDING
    middle = np.mod((angles + after) / 2, 2 * np.pi)[wide]
    return Arcs(middle, (after - angles)[wide], signs_at(middle, differences))


def turns(differences: Floats) -> Floats:
    """The two angles [..., 2], in [0, 2π), at which each difference changes its sign."""
    angle = np.arctan2(differences[..., 1], differences[..., 0])
    return np.mod(np.stack([angle + np.pi / 2, angle - np.pi / 2], axis=-1), 2 * np.pi)


def signs_at(angle: Floats, differences: Floats) -> Floats:
    """signs[angle, ...] = sign of w·difference with w at each angle; a tie counts as 1."""
    w = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    return np.where(np.einsum("ac,...c->a...", w, differences) >= 0, 1.0, -1.0)


def arcs_of_each(differences: Floats) -> Floats:
    """signs[pair, x, arc]: for differences[pair, x, 2], the arcs of each pair alone, two per context."""
    angles = np.sort(turns(differences).reshape(len(differences), -1), axis=1)
    after = np.concatenate([angles[:, 1:], angles[:, :1] + 2 * np.pi], axis=1)
    middle = (angles + after) / 2
    w = np.stack([np.cos(middle), np.sin(middle)], axis=-1)
    return np.where(np.einsum("pac,pxc->pxa", w, differences) >= 0, 1.0, -1.0)


def suprema(rng: Rng, law: Floats, worth: Floats, *, searches: int, draws: int) -> Floats:
    """sup over the arcs of 1/n Σ_i ε_i · worth[..., place of i, arc] for each draw of signs and of places by `law`.

    Only the sum at each place matters: c signs sum to 2·Binomial(c, ½) − c. The worth is the sign of a pair for Rₙ, or
    the gains themselves, before the proof splits them into pairs and puts B for each difference of û.
    """
    counts = rng.multinomial(searches, law / law.sum(), size=draws)
    sums = (2 * rng.binomial(counts, 0.5) - counts).astype(np.float64)
    return np.asarray(np.max(sums @ worth, axis=-1) / searches)
