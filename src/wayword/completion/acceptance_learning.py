"""From a table of lists shown to a model of acceptance, with intervals, a check on held-out lists, and counts."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wayword.completion.acceptance import PRIOR, Acceptance
from wayword.completion.acceptance_candidates import Universe
from wayword.completion.acceptance_data import AcceptanceData, assemble
from wayword.completion.acceptance_fit import Estimate, Fit, fit
from wayword.completion.acceptance_reliability import Reliability, reliability
from wayword.completion.intended_queries import SMOOTHING, fit_with_searches
from wayword.completion.shown_lists import ShownLists
from wayword.progress import SILENT, Progress

LEAST_SESSIONS = 50
"""With fewer typing sessions the prior stays."""
LEARNED = 0.75
"""A parameter is learned from the lists if they take away this share of the prior's variance."""


@dataclass(frozen=True)
class LearnedAcceptance:
    """The result of learning from lists shown and taken."""

    data: AcceptanceData
    fit: Fit
    reliability: Reliability | None
    searches: NDArray[np.float64]
    """Searches that intend each query; see `intended_queries`."""

    @property
    def enough(self) -> bool:
        """Whether there were enough sessions to leave the prior."""
        return self.data.sessions >= LEAST_SESSIONS

    @property
    def model(self) -> Acceptance:
        """The fitted model, or the prior."""
        return self.fit.model if self.enough else PRIOR

    def details(self) -> dict[str, Any]:
        """Everything in plain values, for JSON."""
        return {
            "learned": self.enough,
            "counts": dict(self.data.counts),
            "others": self.data.others,
            "parameters": [
                {
                    **_finite(asdict(estimate)),
                    "lists_for_next_digit": lists_for_next_digit(estimate, self.fit.lists)[1],
                }
                for estimate in self.fit.estimates()
            ],
            "reliability": None if self.reliability is None else asdict(self.reliability),
        }


def learn(
    lists: ShownLists,
    universe: Universe,
    issued: NDArray[np.float64],
    logged: pa.Array | None = None,
    progress: Progress = SILENT,
) -> LearnedAcceptance:
    """Fit to all lists; the check is made with a fit to four fifths of them.

    `issued` is the number of searches that issued each query, in a log whose searches are `logged` (search_ids).
    Those that took a suggestion count for what they probably intended; see `intended_queries`.
    """
    known = pa.array([], pa.string()) if logged is None else logged
    data = assemble(lists, universe, issued + SMOOTHING)
    progress.advance(1, 3)
    fitted, data, searches = fit_with_searches(data, issued, known)
    progress.advance(2, 3)
    checked = None
    if data.sessions >= LEAST_SESSIONS:
        checked = reliability(lists, universe, searches, start=fitted)
    progress.advance(3, 3)
    return LearnedAcceptance(data, fitted, checked, searches)


def refit(lists: ShownLists, universe: Universe, searches: NDArray[np.float64]) -> Acceptance:
    """Fit once, given the searches that intend each query; with few sessions the prior stays."""
    data = assemble(lists, universe, searches + SMOOTHING)
    return fit(data).model if data.sessions >= LEAST_SESSIONS else PRIOR


def lists_for_next_digit(estimate: Estimate, lists: int) -> tuple[int, int | None]:
    """Return how many decimals of a parameter are known, and how many lists one more needs.

    A decimal is known if the interval is at most half of it to either side. The width of an interval falls with the
    root of the number of lists. None if the interval is mostly that of the prior: more such lists may not help.

    >>> lists_for_next_digit(Estimate("r", 0.7, 0.68, 0.72, 0.7, 10.0, 0.9), 1000)
    (1, 16000)
    """
    half = estimate.half_width
    if not lists or estimate.learned < LEARNED or half <= 0:
        return 0, None
    known = math.floor(-math.log10(2 * half) + 1e-9)
    return known, round(lists * (half / (0.5 * 10.0 ** -(known + 1))) ** 2)


def _finite(values: Mapping[str, Any]) -> dict[str, Any]:
    """Replace infinity, which JSON lacks, with null."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in values.items()
    }
