"""Acceptance and reading: which suggestions people take.

A person who intends the query q̄, has typed x and reads the suggestion q takes it with the probability

    a(q | x, q̄) = 1 if q and q̄ are one suggestion, else σ(coefficients · features of the pair)

and reads the suggestion at position j with the probability r_j, which does not increase with j. As a is 1 for the
intended query, r_j is the probability that somebody whose query stands at position j takes it there.

A few people are careless: they take whatever they read (a = 1). And who has declined a suggestion may keep to it: where
a suggestion was shown before in the typing session, `kept` · log P(not read yet) is added to the log-odds of a. If
`kept` is 0, people decide anew at each keystroke; if it is 1, once about each suggestion.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.errors import WorkspaceError
from wayword.store.artefact import write_atomically
from wayword.store.regular_file import read_regular

FEATURES = ("constant", "typed_words", "intended_words", "suggested_words", "served", "corrected")
"""1; q has the typed words, each at least as the beginning of a word; share of q̄'s words that are in q; share of q's
words that are in q̄ (words weighted by rarity); û(q | q̄), how well q's result page serves those who intend q̄, times its
certainty (`ExpectedUtilityRetriever.certainty`); x was corrected (a match of the sources typo or similar). Shares and û
are on the scale of `query_pairs.log_share`, from 0 to 1."""
MODEL = "acceptance.json"
"""The file of a model in an artefact."""
POSITIONS = 10
"""Positions with a reading probability of their own; later positions have that of the last."""
CARELESS, KEPT, STRICT = 0.3, 0.5, 0.3
"""The share of careless people, how far decisions are kept, and the share of strict people among those who are not
careless, before any event."""
UNCERTAIN = 2.0
"""The standard deviation of the constant before any event: how readily people take another query differs most."""


@dataclass(frozen=True)
class Acceptance:
    """`coefficients[f]` is the weight of `FEATURES[f]`, `reading[j]` the probability that position j + 1 is read.

    >>> PRIOR.probability(np.array([[1.0, 1, 0, 0, 0, 0], [1.0, 1, 1, 1, 1, 0]])).round(2).tolist()
    [0.01, 0.9]
    """

    coefficients: NDArray[np.float64]
    reading: NDArray[np.float64]
    careless: float = CARELESS
    """The share of people who take whatever they read."""
    kept: float = KEPT
    """How far a decision about a suggestion is kept while a query is typed: 0 not at all, 1 entirely."""
    strict: float = STRICT
    """The share of people who accept only their own query, among those who are not careless."""
    uncertain: float = UNCERTAIN
    """The standard deviation of the constant."""
    contrast: NDArray[np.float64] = field(default_factory=lambda: np.zeros(len(FEATURES)))
    """How people differ: lists are chosen for two kinds, of which one has the coefficients + `contrast` and follows
    words more, the other the coefficients − `contrast` and follows result pages more."""

    @property
    def by_kind(self) -> NDArray[np.float64]:
        """The coefficients of each kind of people, kinds × features; without a contrast there is one kind.

        >>> PRIOR.by_kind[:, 4].tolist(), Acceptance(PRIOR.coefficients, PRIOR.reading).by_kind[:, 4].tolist()
        ([2.5, 7.5], [5.0])
        """
        if not self.contrast.any():
            return self.coefficients[None]
        return np.stack([self.coefficients + self.contrast, self.coefficients - self.contrast])

    def probability(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a(q | x, q̄) of pairs of different suggestions, given their features (pairs × features)."""
        result: NDArray[np.float64] = 1 / (1 + np.exp(-features @ self.coefficients))
        return result

    def reading_at(self, positions: int) -> NDArray[np.float64]:
        """Return r_1 … r_positions.

        >>> PRIOR.reading_at(12)[9:].tolist() == [PRIOR.reading[9]] * 3
        True
        """
        return self.reading[np.minimum(np.arange(positions), len(self.reading) - 1)]

    def save(self, path: Path, details: Mapping[str, Any] | None = None) -> None:
        """Write a JSON file. `details`, such as intervals, are for people: `load` ignores them."""
        values = {**self.as_object(), **(details or {})}
        write_atomically(path, json.dumps(values, indent=1) + "\n")

    def as_object(self) -> dict[str, Any]:
        """Return the parameters as plain values."""
        return {
            "coefficients": dict(zip(FEATURES, self.coefficients.tolist(), strict=True)),
            "reading": self.reading.tolist(),
            "careless": self.careless,
            "kept": self.kept,
            "strict": self.strict,
            "uncertain": self.uncertain,
            "contrast": dict(zip(FEATURES, self.contrast.tolist(), strict=True)),
        }

    @classmethod
    def load(cls, path: Path) -> "Acceptance":
        """Read the file of `save`; raises `WorkspaceError` if it is not one."""
        try:
            values = json.loads(read_regular(path, 1 << 20))
            coefficients, contrast = (
                np.array([float(values[part][name]) for name in FEATURES])
                for part in ("coefficients", "contrast")
            )
            reading = np.array(values["reading"], np.float64)
            numbers = {name: float(values[name]) for name in ("careless", "kept", "strict")}
            numbers["uncertain"] = float(values.get("uncertain", UNCERTAIN))
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as problem:
            raise WorkspaceError(
                f"{path} is not an acceptance model ({problem}); `wayword acceptance` writes one."
            ) from problem
        model = cls(coefficients, reading, **numbers, contrast=contrast)
        model.check(path)
        return model

    def check(self, source: Path | str) -> None:
        """Raise `WorkspaceError` unless numbers are finite, shares are shares, and reading does not increase."""
        reading = self.reading
        if not (
            np.isfinite(self.by_kind).all()
            and reading.ndim == 1
            and len(reading)
            and (reading >= 0).all()
            and (reading <= 1).all()
            and (np.diff(reading) <= 0).all()
            and 0 <= self.careless < 1
            and 0 <= self.strict < 1
            and np.isfinite(self.kept)
            and 0 <= self.uncertain < np.inf
        ):
            raise WorkspaceError(
                f"Found impossible numbers in {source}; expected finite coefficients, reading probabilities from 1 to "
                "0 that do not increase, shares of careless and of strict people below 1, and a finite kept."
            )


PRIOR = Acceptance(
    np.array([-5.8, 0.6, 1.2, 1.2, 5.0, -0.5]),
    0.85 * np.arange(1, POSITIONS + 1, dtype=np.float64) ** -0.9,
    contrast=np.array([0.0, 0.6, 1.2, 1.2, -2.5, 0.0]),
)
"""The model for logs without events of what was shown and taken; docs/acceptance.md gives the reasons."""
