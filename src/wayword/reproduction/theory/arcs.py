"""All linear rankers of the plane, exactly: the unit circle in arcs on which no pair of queries changes its order.

A ranker S_w puts q before q' in context x if w·(φ(x,q) − φ(x,q')) > 0, with w = (cos θ, sin θ). That changes only at
the two angles that are perpendicular to a difference of features, so sorting these angles enumerates the class.
"""

from dataclasses import dataclass

import numpy as np

from wayword.reproduction.theory.model import Floats

ROUNDING = 1e-12


@dataclass(frozen=True)
class Arcs:
    """`middle` and `width` of every arc in radians, and signs[arc, ...] = S_w of each difference there, ±1."""

    middle: Floats
    width: Floats
    signs: Floats


def arcs(differences: Floats) -> Arcs:
    """The arcs of the class for differences[..., 2] of features.

    >>> found = arcs(np.array([[1.0, 0.0], [0.0, 1.0]]))
    >>> (found.middle / np.pi).tolist(), found.signs.tolist()
    ([0.25, 0.75, 1.25, 1.75], [[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    """
    middle, width = _between(turns(differences).reshape(-1))
    wide = width > ROUNDING
    middle, width = middle[wide], width[wide]
    return Arcs(middle, width, signs_at(middle, differences))


def turns(differences: Floats) -> Floats:
    """The two angles [..., 2], in [0, 2π), at which each difference changes its sign."""
    angle = np.arctan2(differences[..., 1], differences[..., 0])
    return np.mod(np.stack([angle + np.pi / 2, angle - np.pi / 2], axis=-1), 2 * np.pi)


def signs_at(angle: Floats, differences: Floats) -> Floats:
    """signs[angle, ...] = sign of w·difference with w at each angle; a tie counts as 1."""
    w = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    return np.where(np.einsum("ac,...c->a...", w, differences) >= 0, 1.0, -1.0)


def arcs_of_each(differences: Floats) -> Floats:
    """signs[pair, arc, x]: for differences[pair, x, 2], the arcs of each pair alone, two per context."""
    angles = np.sort(turns(differences).reshape(len(differences), -1), axis=1)
    after = np.concatenate([angles[:, 1:], angles[:, :1] + 2 * np.pi], axis=1)
    middle = (angles + after) / 2
    w = np.stack([np.cos(middle), np.sin(middle)], axis=-1)
    return np.where(np.einsum("pac,pxc->pax", w, differences) >= 0, 1.0, -1.0)


def _between(angles: Floats) -> tuple[Floats, Floats]:
    """Middle and width of the arcs between sorted angles; the last one goes round to the first."""
    ascending = np.unique(angles)
    after = np.append(ascending[1:], ascending[0] + 2 * np.pi)
    return np.mod((ascending + after) / 2, 2 * np.pi), after - ascending
