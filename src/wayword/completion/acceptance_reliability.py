"""How well a model of acceptance forecasts held-out lists.

For each held-out list the probability of every outcome is forecast from what is known before: the typed text, the lists
shown, and that nothing was taken earlier in the session. The query that followed is not used. Compared are the fitted
model, the prior, and constant rates: the share of training lists in which each position was taken.
"""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wayword.completion.acceptance import FEATURES, POSITIONS, PRIOR, Acceptance
from wayword.completion.acceptance_candidates import Universe
from wayword.completion.acceptance_data import AcceptanceData, assemble, usable
from wayword.completion.acceptance_fit import Fit, fit
from wayword.completion.acceptance_likelihood import forecast
from wayword.completion.shown_lists import ShownLists
from wayword.store.compressed_rows import CompressedRows

HELD_OUT = 0.2
"""Share of the sessions that are held out."""
MOST_LISTS = 8_000
"""Held-out lists that are forecast."""
EDGES = (0.0, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 1.0)
"""Bins of forecast probabilities."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Bin:
    """Suggestions whose forecast probability is between two edges."""

    low: float
    high: float
    suggestions: int
    forecast: float
    """Mean probability of being taken."""
    observed: float
    """Share that was taken."""


@dataclass(frozen=True)
class Reliability:
    """Forecasts of held-out lists; log-likelihoods are means per list."""

    sessions: int
    lists: int
    fitted: float
    prior: float
    constant: float
    gain: tuple[float, float]
    """95 % interval of the difference fitted − prior, clustered by session."""
    bins: tuple[Bin, ...]


def reliability(
    lists: ShownLists, universe: Universe, searches: Floats, start: Fit | None = None
) -> Reliability | None:
    """Fit to four fifths of the sessions and forecast the others; None without held-out lists.

    A fit to all sessions as the `start` saves time.
    """
    lists = usable(lists, universe)
    held = lists.held_out < np.quantile(lists.held_out, HELD_OUT) if lists.sessions >= 10 else None
    if held is None or not held.any():
        return None
    trained = lists.of_sessions(~held)
    training = assemble(trained, universe, searches)
    fitted = fit(training, start.parameters if start and start.kinds == training.kinds else None)
    steps, owner = each_list(lists.of_sessions(held), MOST_LISTS)
    data = assemble(steps, universe, searches, forecast=True)
    forecasts = [
        forecast(data, _with_shifts(fitted.model, _shifts(data, fitted))),
        forecast(data, _with_shifts(PRIOR, np.zeros(len(data.kinds)))),
        _constant(trained, data),
    ]
    logs = [_log_probabilities(data, one) for one in forecasts]
    return Reliability(
        int(held.sum()),
        data.sessions,
        float(logs[0].mean()),
        float(logs[1].mean()),
        float(logs[2].mean()),
        _difference(logs[0] - logs[1], owner),
        _bins(data, forecasts[0]),
    )


def each_list(lists: ShownLists, most: int) -> tuple[ShownLists, NDArray[np.int64]]:
    """Return a session for each list: this list and those before it. Also the session that each came from."""
    begin = np.searchsorted(lists.session, np.arange(lists.sessions))
    chosen = np.arange(min(len(lists), most))
    lengths = chosen - begin[lists.session[chosen]] + 1
    owner = np.repeat(chosen, lengths)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    source = begin[lists.session[owner]] + place
    of_session = lists.session[chosen]
    at = pa.array(of_session)
    _, shown = lists.shown.take(source)
    steps = replace(
        lists,
        session=owner,
        prefix=lists.prefix[source],
        shown=CompressedRows.from_lengths(shown, lists.shown.lengths[source]),
        taken=lists.taken[source],
        query=lists.query[of_session],
        search_id=lists.search_id.take(at),
        value=lists.value.take(at),
        held_out=lists.held_out[of_session],
    )
    return steps, of_session


def _with_shifts(model: Acceptance, shifts: Floats) -> Acceptance:
    return replace(model, coefficients=np.r_[model.coefficients, shifts])


def _shifts(data: AcceptanceData, fitted: Fit) -> Floats:
    """The fitted shift of each context value that the held-out lists have."""
    shifts = fitted.shifted.coefficients[len(FEATURES) :]
    known = dict(zip(fitted.kinds, shifts, strict=True))
    return np.array([known.get(kind, 0.0) for kind in data.kinds], np.float64)


def _last(data: AcceptanceData) -> NDArray[np.int64]:
    return data.lists[1:] - 1


def _constant(trained: ShownLists, data: AcceptanceData) -> Floats:
    """The share of training lists, long enough, in which each position was taken (one more is added to each)."""
    lengths = np.minimum(trained.shown.lengths, POSITIONS)
    reached = np.cumsum(np.bincount(lengths, minlength=POSITIONS + 1)[::-1])[::-1][1:]
    takes = np.bincount(np.minimum(trained.taken, POSITIONS), minlength=POSITIONS + 1)[1:]
    rate = (takes + 0.1) / (reached + 2.0)
    position = np.arange(len(data.items.values)) - data.items.offsets[data.items.owner]
    return np.asarray(rate[np.minimum(position, POSITIONS - 1)], np.float64)


def _log_probabilities(data: AcceptanceData, probability: Floats) -> Floats:
    """log P of what was observed at the last list of each session."""
    last = _last(data)
    total = np.r_[0.0, np.cumsum(probability)]
    nothing = 1.0 - (total[data.items.offsets[last + 1]] - total[data.items.offsets[last]])
    taken = data.taken[last]
    item = np.where(taken > 0, data.items.offsets[last] + taken - 1, 0)
    chosen = np.r_[probability, 0.0][item]
    result: Floats = np.log(np.maximum(np.where(taken > 0, chosen, nothing), 1e-12))
    return result


def _difference(values: Floats, owner: NDArray[np.int64]) -> tuple[float, float]:
    """95 % interval of the mean of values, clustered by their owner."""
    mean = float(values.mean())
    sums = np.bincount(owner, weights=values - mean)
    error = 1.96 * float(np.sqrt((sums**2).sum())) / len(values)
    return mean - error, mean + error


def _bins(data: AcceptanceData, probability: Floats) -> tuple[Bin, ...]:
    last = _last(data)
    owner, item = data.items.take(last)
    at = np.repeat(data.items.offsets[last], data.items.lengths[last])
    place = np.arange(len(item)) - np.searchsorted(owner, np.arange(len(last)))[owner]
    forecasts = probability[at + place]
    observed = data.taken[last][owner] == place + 1
    found = np.clip(np.searchsorted(EDGES, forecasts, side="right") - 1, 0, len(EDGES) - 2)
    count = np.bincount(found, minlength=len(EDGES) - 1)
    sums = [np.bincount(found, weights=values, minlength=len(count)) for values in (forecasts, observed)]
    return tuple(
        Bin(EDGES[b], EDGES[b + 1], int(count[b]), float(sums[0][b] / count[b]), float(sums[1][b] / count[b]))
        for b in np.flatnonzero(count).tolist()
    )
