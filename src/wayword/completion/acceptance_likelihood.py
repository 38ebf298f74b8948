"""The likelihood of lists shown and taken, with its gradient and Hessian, in one compiled pass.

    log L = Σ_sessions log Σ_q̄ P(q̄ | x) Π_lists ℓ
    ℓ     = Π_j (1 − r_j a_j) if nothing was taken, r_J a_J Π_{j<J} (1 − r_j a_j) if position J was

where a_j = 1 for one suggestion with q̄, else σ(β · f). Derivatives are by ρ_j = log r_j and by β; `acceptance_fit`
turns them into derivatives by its own parameters.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.completion.acceptance import POSITIONS
from wayword.completion.acceptance_data import AcceptanceData
from wayword.completion.acceptance_features import COMPARED
from wayword.numba_jit import compiled, subroutine
from wayword.store.stage import threads

Floats = NDArray[np.float64]
BLOCKS = 16
"""Sessions are summed in so many parts, in parallel; the sums are the same on any number of cores."""
NEGLIGIBLE = 1e-10
"""A candidate of this posterior probability has no part in the derivatives."""


@dataclass(frozen=True)
class Likelihood:
    """log L and its derivatives by (ρ, β), and the posterior of each candidate."""

    value: float
    gradient: Floats
    hessian: Floats
    outer: Floats
    """Σ_sessions score · scoreᵀ."""
    posterior: Floats
    by_session: Floats


def likelihood(data: AcceptanceData, reading: Floats, coefficients: Floats) -> Likelihood:
    """Evaluate at reading probabilities and at coefficients of `FEATURES` and, after them, of the context's values."""
    size = POSITIONS + len(coefficients)
    blocks = max(min(BLOCKS, data.sessions // 500), 1)
    bounds = _bounds(data, blocks)
    posterior, by_session = np.zeros(len(data.candidates.values)), np.zeros(data.sessions)
    parts = [(np.zeros(size), np.zeros((size, size)), np.zeros((size, size))) for _ in range(blocks)]

    def work(block: int) -> None:
        accumulate(
            bounds[block],
            bounds[block + 1],
            _arrays(data),
            reading,
            coefficients,
            *parts[block],
            posterior,
            by_session,
        )

    if blocks == 1:
        work(0)
    else:
        with ThreadPoolExecutor(threads()) as pool:
            list(pool.map(work, range(blocks)))
    gradient, hessian, outer = (np.sum(part, axis=0) for part in zip(*parts, strict=True))
    return Likelihood(float(by_session.sum()), gradient, hessian, outer, posterior, by_session)


def forecast(data: AcceptanceData, reading: Floats, coefficients: Floats) -> Floats:
    """Return the probability that each item of the last list of its session is taken; nothing was taken before.

    The result is parallel to `data.items.values`, and 0 for items of earlier lists.
    """
    result = np.zeros(len(data.items.values))
    _forecast(_arrays(data), reading, coefficients, result)
    return result


def _arrays(data: AcceptanceData) -> tuple[Any, ...]:
    return (
        (data.candidates.offsets, data.candidates.weights),
        (data.columns.offsets, data.continues, data.corrected),
        (data.lists, data.items.offsets, data.items.values, data.taken),
        (data.starts, data.compared, data.same),
        data.kind,
    )


def _bounds(data: AcceptanceData, blocks: int) -> NDArray[np.int64]:
    """Cut the sessions into parts of about equal work."""
    work = np.cumsum(data.candidates.lengths * data.columns.lengths + 1)
    inner = np.searchsorted(work, work[-1] * np.arange(1, blocks) / blocks) if data.sessions else []
    return np.r_[0, inner, data.sessions].astype(np.int64)


@subroutine
def _accept(session: Any, arrays: Any, coefficients: Any, accepted: Any) -> None:
    """Write a of the session's candidates × columns into `accepted`."""
    (member_offsets, _), (column_offsets, continues, corrected), _, (starts, compared, same), kind = arrays
    at = starts[session]
    constant = coefficients[0]
    if kind[session] >= 0:
        constant += coefficients[6 + kind[session]]
    begin, n = column_offsets[session], column_offsets[session + 1] - column_offsets[session]
    for m in range(member_offsets[session + 1] - member_offsets[session]):
        for c in range(n):
            if same[at]:
                accepted[m, c] = 1.0
            else:
                z = constant + coefficients[2] * compared[at, 0] + coefficients[3] * compared[at, 1]
                z += coefficients[4] * compared[at, 2]
                if continues[begin + c]:
                    z += coefficients[1]
                if corrected[begin + c]:
                    z += coefficients[5]
                accepted[m, c] = 1.0 / (1.0 + np.exp(-z))
            at += 1


@subroutine
def _log_probability(m: Any, first: Any, last: Any, lists: Any, reading: Any, accepted: Any) -> Any:
    """Return log Π ℓ of the lists `first` to `last` for one candidate."""
    _, item_offsets, item, taken = lists
    total = 0.0
    for one in range(first, last):
        product = 1.0
        for i in range(item_offsets[one], item_offsets[one + 1]):
            j = i - item_offsets[one]
            t = reading[min(j, POSITIONS - 1)] * accepted[m, item[i]]
            if j + 1 == taken[one]:
                product *= max(t, 1e-300)
                break
            product *= max(1.0 - t, 1e-12)
        total += np.log(max(product, 1e-300))
    return total


@compiled
def accumulate(
    first: Any,
    last: Any,
    arrays: Any,
    reading: Any,
    coefficients: Any,
    gradient: Any,
    hessian: Any,
    outer: Any,
    posterior: Any,
    by_session: Any,
) -> None:
    """Add the derivatives of the sessions `first` to `last`; write their posteriors and log-likelihoods."""
    (member_offsets, probability), (column_offsets, _, _), lists, _, _ = arrays
    list_offsets = lists[0]
    width = len(coefficients)
    size = POSITIONS + width
    f = np.zeros(width)
    score, own = np.zeros(size), np.zeros(size)
    second, cross = np.zeros(POSITIONS), np.zeros((POSITIONS, width))
    for session in range(first, last):
        m0, m1 = member_offsets[session], member_offsets[session + 1]
        n = column_offsets[session + 1] - column_offsets[session]
        l0, l1 = list_offsets[session], list_offsets[session + 1]
        accepted = np.empty((m1 - m0, n))
        slope, curve = np.empty(n), np.empty(n)
        _accept(session, arrays, coefficients, accepted)
        best = -np.inf
        for m in range(m0, m1):
            posterior[m] = np.log(max(np.float64(probability[m]), 1e-300)) + _log_probability(
                m - m0, l0, l1, lists, reading, accepted
            )
            best = max(best, posterior[m])
        if m0 == m1:
            continue
        total = 0.0
        for m in range(m0, m1):
            posterior[m] = np.exp(posterior[m] - best)
            total += posterior[m]
        by_session[session] = best + np.log(total)
        score[:] = 0.0
        for m in range(m0, m1):
            posterior[m] /= total
            weight = posterior[m]
            if weight < NEGLIGIBLE:
                continue
            own[:], second[:], cross[:] = 0.0, 0.0, 0.0
            slope[:], curve[:] = 0.0, 0.0
            _of_lists(session, m - m0, arrays, reading, accepted, own, second, cross, slope, curve)
            _of_columns(session, m - m0, arrays, weight, slope, curve, f, own, hessian)
            _add_candidate(weight, own, second, cross, score, hessian)
        for a in range(size):
            gradient[a] += score[a]
            for b in range(a + 1):
                product = score[a] * score[b]
                outer[a, b] += product
                hessian[a, b] -= product
    for a in range(size):
        for b in range(a):
            outer[b, a] = outer[a, b]
            hessian[b, a] = hessian[a, b]


@subroutine
def _add_candidate(weight: Any, own: Any, second: Any, cross: Any, score: Any, hessian: Any) -> None:
    """Add a candidate's derivatives, weighted by its posterior, to those of its session."""
    for a in range(POSITIONS):
        hessian[a, a] += weight * second[a]
        for b in range(cross.shape[1]):
            hessian[POSITIONS + b, a] += weight * cross[a, b]
    for a in range(len(own)):
        score[a] += weight * own[a]
        for b in range(a + 1):
            hessian[a, b] += weight * own[a] * own[b]


@subroutine
def _of_lists(
    session: Any,
    member: Any,
    arrays: Any,
    reading: Any,
    accepted: Any,
    own: Any,
    second: Any,
    cross: Any,
    slope: Any,
    curve: Any,
) -> None:
    """Add the derivatives of a candidate: first and second ones by ρ (`own`, `second`) and by the logit of each column
    (`slope`, `curve`), and mixed ones by ρ and β (`cross`)."""
    _, (column_offsets, continues, corrected), lists, (starts, compared, same), kind = arrays
    list_offsets, item_offsets, item, taken = lists
    begin = column_offsets[session]
    base = starts[session] + member * (column_offsets[session + 1] - begin)
    for one in range(list_offsets[session], list_offsets[session + 1]):
        for i in range(item_offsets[one], item_offsets[one + 1]):
            j = min(i - item_offsets[one], POSITIONS - 1)
            c = item[i]
            accept = accepted[member, c]
            declined = 1.0 - accept
            if i - item_offsets[one] + 1 == taken[one]:
                own[j] += 1.0
                slope[c] += declined
                curve[c] -= accept * declined
                break
            t = reading[j] * accept
            inverse = 1.0 / max(1.0 - t, 1e-12)
            ratio = t * inverse
            own[j] -= ratio
            second[j] -= ratio * inverse
            if same[base + c]:
                continue
            slope[c] -= ratio * declined
            curve[c] -= ratio * declined * (1.0 - 2.0 * accept + ratio * declined)
            both = ratio * declined * inverse
            cross[j, 0] -= both
            if continues[begin + c]:
                cross[j, 1] -= both
            for a in range(COMPARED):
                cross[j, 2 + a] -= both * compared[base + c, a]
            if corrected[begin + c]:
                cross[j, 5] -= both
            if kind[session] >= 0:
                cross[j, 6 + kind[session]] -= both


@subroutine
def _of_columns(
    session: Any,
    member: Any,
    arrays: Any,
    weight: Any,
    slope: Any,
    curve: Any,
    f: Any,
    own: Any,
    hessian: Any,
) -> None:
    """Turn derivatives by the logits of columns into derivatives by β."""
    _, (column_offsets, _, _), _, (starts, _, same), _ = arrays
    begin, n = column_offsets[session], column_offsets[session + 1] - column_offsets[session]
    base = starts[session] + member * n
    for c in range(n):
        if same[base + c] or (slope[c] == 0.0 and curve[c] == 0.0):
            continue
        _fill(f, session, begin + c, base + c, arrays)
        for a in range(len(f)):
            if f[a] != 0.0:
                own[POSITIONS + a] += slope[c] * f[a]
                for b in range(a + 1):
                    hessian[POSITIONS + a, POSITIONS + b] += weight * curve[c] * f[a] * f[b]


@subroutine
def _fill(f: Any, session: Any, column: Any, pair: Any, arrays: Any) -> None:
    """Write the features of a pair into `f`."""
    _, (_, continues, corrected), _, (_, compared, _), kind = arrays
    f[:] = 0.0
    f[0] = 1.0
    f[1] = 1.0 if continues[column] else 0.0
    f[2], f[3], f[4] = compared[pair, 0], compared[pair, 1], compared[pair, 2]
    f[5] = 1.0 if corrected[column] else 0.0
    if kind[session] >= 0:
        f[6 + kind[session]] = 1.0


@compiled
def _forecast(arrays: Any, reading: Any, coefficients: Any, result: Any) -> None:
    (member_offsets, probability), (column_offsets, _, _), lists, _, _ = arrays
    list_offsets, item_offsets, item, _ = lists
    for session in range(len(list_offsets) - 1):
        m0, m1 = member_offsets[session], member_offsets[session + 1]
        n = column_offsets[session + 1] - column_offsets[session]
        accepted = np.empty((m1 - m0, n))
        _accept(session, arrays, coefficients, accepted)
        last = list_offsets[session + 1] - 1
        total = 0.0
        for m in range(m0, m1):
            reach = probability[m] * np.exp(
                _log_probability(m - m0, list_offsets[session], last, lists, reading, accepted)
            )
            total += reach
            for i in range(item_offsets[last], item_offsets[last + 1]):
                t = reading[min(i - item_offsets[last], POSITIONS - 1)] * accepted[m - m0, item[i]]
                result[i] += reach * t
                reach *= 1.0 - t
        for i in range(item_offsets[last], item_offsets[last + 1]):
            result[i] /= max(total, 1e-300)
