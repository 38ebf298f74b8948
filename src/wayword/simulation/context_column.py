"""The column `part`: which part of the archive a person browses. Known while typing, it tells something, not all.

An intent belongs to one part. The log says that part with probability `right`; otherwise it says one of the others,
in proportion to how often people browse them:

    P(log says c | true part t)  =  right                              if c = t
                                    (1 − right) · law[c] / (1 − law[t])  otherwise

whatever the person types, looks at and clicks. So a policy that believes the column blindly loses, and one that ignores
it leaves something on the table.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wayword.errors import WaywordError
from wayword.simulation.world import Hits, World

PART = "part"


@dataclass(frozen=True)
class Parts:
    """The parts of a world by name, that of every intent, how likely each is, and how often the log is right."""

    names: pa.StringArray
    of_intent: NDArray[np.int64]
    law: NDArray[np.float64]
    right: float

    @classmethod
    def of(cls, world: World, right: float) -> "Parts":
        """The parts of a world; it must have some, and two of them if the log is to be wrong at times."""
        check_right(right)
        if world.parts is None:
            raise WaywordError(NO_PARTS)
        names = pc.unique(world.parts).sort()
        if right < 1 and len(names) < 2:
            raise WaywordError(
                f"Found {PART} = {right}, and {len(names)} part in the world; expected two, of which one can be wrong."
            )
        of_intent = pc.index_in(world.parts, value_set=names).to_numpy(zero_copy_only=False).astype(np.int64)
        law = np.bincount(of_intent, weights=world.intents.probability, minlength=len(names))
        return cls(names, of_intent, law / law.sum(), right)

    def said(self) -> NDArray[np.float64]:
        """P(log says c | true part t) as a matrix of true × said parts."""
        others = np.where(np.eye(len(self.law), dtype=np.bool_), 0.0, self.law)
        rest = others.sum(axis=1, keepdims=True)
        share = np.divide(others, rest, out=np.zeros_like(others), where=rest > 0)
        return self.right * np.eye(len(self.law)) + (1 - self.right) * share

    def draw(self, rng: np.random.Generator, intent: NDArray[np.int64]) -> NDArray[np.int64]:
        """What the log says of the searches of these intents: numbers of parts."""
        true = self.of_intent[intent]
        wrong = rng.random(len(true)) >= self.right
        return np.where(wrong, _another(self.law, true, rng.random(len(true))), true)


NO_PARTS = (
    f"This world does not know which part of an archive people browse, so its log cannot have a column `{PART}`. "
    "The worlds packages, debian and debian-pecos do; leave the option out for others."
)


def check_right(right: float) -> None:
    """A probability above 0: a column that is never right would tell where people are not."""
    if not 0 < right <= 1:
        raise WaywordError(f"Found {PART} = {right}; expected a probability above 0 and at most 1.")


def _another(
    law: NDArray[np.float64], true: NDArray[np.int64], uniform: NDArray[np.float64]
) -> NDArray[np.int64]:
    """A place of `law` other than `true`, in proportion to it: the cumulative law inverted with the true one cut out.

    >>> _another(np.array([0.5, 0.25, 0.25]), np.array([0, 0, 1, 1]), np.array([0.4, 0.6, 0.6, 0.7])).tolist()
    [1, 2, 0, 2]
    """
    ends = np.cumsum(law)
    point = uniform * (ends[-1] - law[true])
    point = np.where(point >= ends[true] - law[true], point + law[true], point)
    within: NDArray[np.int64] = np.minimum(
        np.searchsorted(ends, point, side="right"), np.flatnonzero(law)[-1]
    )
    return within


def truth_by_part(world: World, hits: Hits, parts: Parts) -> pa.Table:
    """The world's law where the log has the column: columns query, document, part and

        mass[q, a, c] = P(a search issues q, a is relevant to the person, q returns a, the log says c),

    so that the sum over c is `world.truth`. Rows are by query, document and part, none of mass 0.
    """
    width, count = world.documents.num_rows, len(parts.names)
    pairs, member = np.unique(world.intents.query[hits.owner] * width + hits.document, return_inverse=True)
    by_true = csr_array(
        (world.intents.probability[hits.owner], (member, parts.of_intent[hits.owner])),
        shape=(len(pairs), count),
    )
    mass = np.asarray(by_true @ parts.said()).ravel()
    rows = np.flatnonzero(mass)
    pair = pairs[rows // count]
    return pa.table(
        {
            "query": world.queries.take(pa.array(pair // width)),
            "document": world.documents["document"].combine_chunks().take(pa.array(pair % width)),
            PART: parts.names.take(pa.array(rows % count)),
            "mass": pa.array(mass[rows], pa.float64()),
        }
    )
