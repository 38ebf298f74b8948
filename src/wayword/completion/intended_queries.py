"""The posterior of the intended query of people who took a suggestion.

After a suggestion was taken, the log's issued query is not the intended one. Counting it would make the lists that were
shown look like what people want, and the next lists would show it more. So such a search counts for each query that may
have been intended, by its probability given the typed text, the lists shown and what was taken. What careless people
take says nothing about it: as far as somebody may be careless, the typed text alone counts. These probabilities
need the number of searches that intend each query, which is what is asked for: both are estimated in turn (EM).
"""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from wayword.completion.acceptance_data import AcceptanceData
from wayword.completion.acceptance_fit import Fit, fit
from wayword.completion.acceptance_likelihood import likelihood
from wayword.store.compressed_rows import WeightedRows

Floats = NDArray[np.float64]
SMOOTHING = 0.5
"""Searches that are added to each query: one that is always suggested away is never issued."""
ROUNDS, STEPS = 5, 40
"""Fits of acceptance, and after each the updates of the numbers of searches, at most."""
CONVERGED = 1e-5
"""Updates end when they move less than this share of the searches."""
LEAST = 0.001
"""Smallest probability of an intended query in the table."""
TABLE = pa.schema([("search_id", pa.string()), ("query", pa.int32()), ("probability", pa.float64())])


def typed_searches(
    data: AcceptanceData, issued: Floats, logged: pa.Array
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the searches of each query that took no suggestion, and which sessions' searches are not among them.

    `issued` counts the searches of a log by issued query; `logged` has the search_ids of these searches.
    """
    inside = pc.fill_null(pc.is_in(data.search_id, value_set=logged.cast(pa.string())), False)
    counted = data.took & inside.to_numpy(zero_copy_only=False) & (data.query >= 0)
    taken = np.bincount(data.query[counted], minlength=len(issued))
    return np.maximum(issued - taken, 0.0), counted


def fit_with_searches(
    data: AcceptanceData, issued: Floats, logged: pa.Array, rounds: int = ROUNDS
) -> tuple[Fit, AcceptanceData, Floats]:
    """Fit acceptance and the number of searches that intend each query in turn.

    `data` was assembled with `issued` + `SMOOTHING`. Returns the fit, the data with the new P(q̄ | x), and the searches.
    """
    typed, counted = typed_searches(data, issued, logged)
    if not counted.any():
        return fit(data), data, issued + SMOOTHING
    before = issued + SMOOTHING
    current, searches, start = data, before, None
    for _ in range(rounds):
        fitted = fit(current, start)
        start = fitted.parameters
        searches = _intended_searches(current, fitted, searches, typed + SMOOTHING, counted)
        current = with_searches(data, before, searches)
    return fit(current, start), current, searches


def with_searches(data: AcceptanceData, before: Floats, after: Floats) -> AcceptanceData:
    """Return the data with P(q̄ | x) by other numbers of searches than those it was assembled with."""
    rows = data.candidates
    ratio = np.where(
        data.took[rows.owner] & (rows.values >= 0), (after / np.maximum(before, 1e-12))[rows.values], 1.0
    )
    weights = (rows.weights * ratio).astype(np.float32)
    return replace(data, candidates=WeightedRows(rows.offsets, rows.values, weights))


def _intended_searches(
    data: AcceptanceData, fitted: Fit, searches: Floats, typed: Floats, counted: NDArray[np.bool_]
) -> Floats:
    """Update the numbers of searches with acceptance as it is."""
    rows, owner = data.candidates, data.candidates.owner
    at = likelihood(data, fitted.shifted)
    used = counted[owner] & (rows.values >= 0) & (at.posterior > 0)
    query, owner, posterior = rows.values[used], owner[used], at.posterior[used]
    by_search = posterior / searches[query]
    for _ in range(STEPS):
        weight = by_search * searches[query]
        share = weight / np.bincount(owner, weights=weight, minlength=data.sessions)[owner]
        before, searches = searches, typed + np.bincount(query, weights=share, minlength=len(typed))
        if np.abs(searches - before).sum() < CONVERGED * searches.sum():
            break
    return searches


def intended_queries(data: AcceptanceData, fitted: Fit) -> pa.Table:
    """Return search_id, query (its number) and probability for searches whose query was taken from a list.

    Each search once per query that may have been intended; its probabilities sum to 1. Queries beyond the most probable
    of a text are left out.
    """
    rows, owner = data.candidates, data.candidates.owner
    posterior = likelihood(data, fitted.shifted).posterior
    known = data.search_id.is_valid().to_numpy(zero_copy_only=False)
    used = (data.took & known & taken_is_issued(data))[owner] & (rows.values >= 0) & (posterior >= LEAST)
    query, owner, posterior = rows.values[used], owner[used], posterior[used]
    share = posterior / np.bincount(owner, weights=posterior, minlength=data.sessions)[owner]
    table = pa.table([data.search_id.take(pa.array(owner)), query, share], schema=TABLE)
    return table.sort_by([("search_id", "ascending"), ("query", "ascending")])


def taken_is_issued(data: AcceptanceData) -> NDArray[np.bool_]:
    """Whether each session issued what it took; some people edit the suggestion first."""
    last = np.maximum(data.lists[1:] - 1, 0)
    taken = data.taken[last]
    at = np.where(taken > 0, data.items.offsets[last] + taken - 1, 0)
    item = np.r_[data.items.values, 0][at]
    column = data.columns.offsets[:-1] + item
    result: NDArray[np.bool_] = (taken > 0) & (np.r_[data.columns.values, -1][column] == data.query)
    return result
