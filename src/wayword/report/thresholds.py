"""Thresholds: the least values of estimates that a team's CI accepts."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wayword.errors import WaywordError
from wayword.evaluation.estimates import LIST_UTILITY, UTILITY
from wayword.evaluation.typing_sessions import FOUND, KEYSTROKES, TAKEN

METRICS = (UTILITY, LIST_UTILITY, "mrr", "success", FOUND, KEYSTROKES, TAKEN)
_FORM = re.compile(r"(?P<policy>[^:@=]+):(?P<metric>[^:@=]+)(?:@(?P<k>\d+))?=(?P<value>[^:@=]+)")


@dataclass(frozen=True)
class Threshold:
    """The least value of a metric of a policy, at a cutoff where the metric has one."""

    policy: str
    metric: str
    k: int | None
    value: float

    @classmethod
    def parse(cls, text: str) -> "Threshold":
        """Read POLICY:METRIC@K=VALUE.

        >>> Threshold.parse("wayword:utility@5=0.4"), Threshold.parse("wayword:found=0.95").k
        (Threshold(policy='wayword', metric='utility', k=5, value=0.4), None)
        """
        parts = _FORM.fullmatch(text)
        try:
            value = float(parts["value"]) if parts else math.nan
        except ValueError:
            value = math.nan
        if parts is None or not math.isfinite(value):
            raise WaywordError(
                f"Found --fail-below {text}; expected POLICY:METRIC@K=VALUE, such as wayword:utility@5=0.4 or "
                "wayword:found=0.95."
            )
        return cls(parts["policy"], parts["metric"], int(parts["k"]) if parts["k"] else None, value)

    @property
    def name(self) -> str:
        """What it is about."""
        return f"{self.policy}:{self.metric}{'' if self.k is None else f'@{self.k}'}"

    def estimate(self, rows: Sequence[dict[str, Any]]) -> float:
        """The estimate among the rows of `estimates_of`; NaN if it could not be made. It has to be named exactly."""
        of_metric = [row for row in rows if (row["policy"], row["metric"]) == (self.policy, self.metric)]
        if not of_metric and self.metric in METRICS and self.policy in {row["policy"] for row in rows}:
            return math.nan  # without a click
        found = [row for row in of_metric if self.k in (None, row["k"])]
        if len(found) == 1:
            return float(found[0]["value"])
        if of_metric:
            cutoffs = ", ".join(f"{self.policy}:{self.metric}@{row['k']}" for row in of_metric)
            raise WaywordError(f"Found --fail-below {self.name}; expected one of {cutoffs}.")
        known = ", ".join(dict.fromkeys(f"{row['policy']}:{row['metric']}" for row in rows))
        raise WaywordError(
            f"Found --fail-below {self.name}, which was not estimated; expected one of {known}."
        )


def failures(thresholds: Sequence[Threshold], rows: Sequence[dict[str, Any]]) -> list[str]:
    """A line for each estimate that is below its threshold, or unknown.

    >>> rows = [{"policy": "wayword", "metric": "found", "k": 10, "value": 0.93}]
    >>> failures([Threshold.parse("wayword:found=0.95")], rows)
    ['wayword:found is 0.93, below 0.95.']
    >>> failures([Threshold.parse("wayword:found=0.9")], rows)
    []
    """
    found = [(threshold, threshold.estimate(rows)) for threshold in thresholds]
    return [
        f"{threshold.name} is {value:.4g}, below {threshold.value:g}."
        if math.isfinite(value)
        else f"{threshold.name} could not be estimated; expected at least {threshold.value:g}."
        for threshold, value in found
        if not value >= threshold.value
    ]
