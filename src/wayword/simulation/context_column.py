"""The context column `part`: a noisy observation of the part of the archive that a person browses.

Every intent has one true value. The log has the true value with probability `accuracy`; otherwise it has one of the
others, in proportion to their share of the intents:

    P(logged value c | true value t)  =  accuracy                                   if c = t
                                         (1 − accuracy) · share[c] / (1 − share[t])  otherwise

independently of the query, the examined rank and the click. So a policy that trusts the column fully loses utility, and
so does one that ignores it.
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
class ContextColumn:
    """The distinct values, the true value of every intent (an index), the share of each value, and the accuracy."""

    values: pa.StringArray
    true_value: NDArray[np.int64]
    share: NDArray[np.float64]
    accuracy: float

    @classmethod
    def of(cls, world: World, accuracy: float) -> "ContextColumn":
        """Read the column from a world. The world needs values, and at least two if the accuracy is below 1."""
        check_accuracy(accuracy)
        if world.context_values is None:
            raise WaywordError(NO_CONTEXT_COLUMN)
        values = pc.unique(world.context_values).sort()
        if accuracy < 1 and len(values) < 2:
            raise WaywordError(
                f"Found {PART} = {accuracy}, and {len(values)} part in the world; expected two or more."
            )
        true_value = (
            pc.index_in(world.context_values, value_set=values)
            .to_numpy(zero_copy_only=False)
            .astype(np.int64)
        )
        mass = np.bincount(true_value, weights=world.intents.probability, minlength=len(values))
        return cls(values, true_value, mass / mass.sum(), accuracy)

    def confusion_matrix(self) -> NDArray[np.float64]:
        """Return P(logged value c | true value t): true values × logged values."""
        same = np.eye(len(self.share))
        others = np.where(same > 0, 0.0, self.share)
        total = others.sum(axis=1, keepdims=True)
        wrong = np.divide(others, total, out=np.zeros_like(others), where=total > 0)
        return self.accuracy * same + (1 - self.accuracy) * wrong

    def draw(self, rng: np.random.Generator, intent: NDArray[np.int64]) -> NDArray[np.int64]:
        """Draw the logged value (an index) of a search of each intent."""
        true = self.true_value[intent]
        wrong = rng.random(len(true)) >= self.accuracy
        return np.where(wrong, _other_value(self.share, true, rng.random(len(true))), true)


NO_CONTEXT_COLUMN = (
    f"This world does not know which part of an archive people browse, so its log cannot have a column `{PART}`. "
    "The worlds packages, debian, debian-pecos and debian-dense do; leave the option out for others."
)


def check_accuracy(accuracy: float) -> None:
    """Raise `WaywordError` unless the accuracy is above 0 and at most 1."""
    if not 0 < accuracy <= 1:
        raise WaywordError(f"Found {PART} = {accuracy}; expected a probability above 0 and at most 1.")


def _other_value(
    share: NDArray[np.float64], true: NDArray[np.int64], uniform: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Draw an index other than `true` in proportion to `share`, by inverse transform sampling with `true` cut out.

    >>> _other_value(np.array([0.5, 0.25, 0.25]), np.array([0, 0, 1, 1]), np.array([0.4, 0.6, 0.6, 0.7])).tolist()
    [1, 2, 0, 2]
    """
    ends = np.cumsum(share)
    point = uniform * (ends[-1] - share[true])
    point = np.where(point >= ends[true] - share[true], point + share[true], point)
    within: NDArray[np.int64] = np.minimum(
        np.searchsorted(ends, point, side="right"), np.flatnonzero(share)[-1]
    )
    return within


def truth_by_context(world: World, hits: Hits, column: ContextColumn) -> pa.Table:
    """Return the world's true distribution with the context column: columns query, document, part and

        mass[q, a, c] = P(a search issues q, a is relevant to the person, q returns a, the logged value is c),

    so that the sum over c is `world.truth`. Rows are sorted by query, document and part; none has mass 0.
    """
    width, count = world.documents.num_rows, len(column.values)
    pairs, member = np.unique(world.intents.query[hits.owner] * width + hits.document, return_inverse=True)
    by_true_value = csr_array(
        (world.intents.probability[hits.owner], (member, column.true_value[hits.owner])),
        shape=(len(pairs), count),
    )
    mass = np.asarray(by_true_value @ column.confusion_matrix()).ravel()
    rows = np.flatnonzero(mass)
    pair = pairs[rows // count]
    return pa.table(
        {
            "query": world.queries.take(pa.array(pair // width)),
            "document": world.documents["document"].combine_chunks().take(pa.array(pair % width)),
            PART: column.values.take(pa.array(rows % count)),
            "mass": pa.array(mass[rows], pa.float64()),
        }
    )
