"""The likelihood of lists shown and taken, with its gradient and Hessian, in one compiled pass.

    log L = Σ_sessions log Σ_q̄ P(q̄ | x) [(1 − ε) ((1 − s) Π_lists ℓ + s Π_lists ℓ⁰) + ε Π_lists ℓ¹]
    ℓ     = Π_j (1 − r_j a_j) if nothing was taken, r_J a_J Π_{j<J} (1 − r_j a_j) if position J was

where ε is the share of careless people, ℓ¹ is ℓ with a = 1, s the share of strict people among the others, ℓ⁰ is ℓ
with a = 0 but for q̄, a_j = 1 for one suggestion with q̄, else σ(β · f + κ log U), and U is the probability that the
suggestion was not read at earlier lists of the session. Strict people type on and see many lists: without them the
model would learn from these lists that hardly anybody takes another query. Who decides once about each suggestion takes
one that they have not taken yet with the probability

    r a U / (1 − a (1 − U)) = r σ(logit a + log U)

Derivatives are by ρ_j = log r_j, by β, by κ, by η = logit ε and by φ = logit s, with log U as a given number;
`acceptance_fit` turns them into derivatives by its own parameters.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.completion.acceptance import FEATURES, POSITIONS, Acceptance
from wayword.completion.acceptance_data import AcceptanceData
from wayword.completion.acceptance_features import COMPARED
from wayword.numba_jit import compiled, subroutine
from wayword.store.stage import threads

Floats = NDArray[np.float64]
BLOCKS = 16
"""Sessions are summed in so many parts, in parallel; the sums are the same on any number of cores."""
NEGLIGIBLE = 1e-10
"""A candidate of this posterior probability has no part in the derivatives."""
WIDTH = len(FEATURES)
LEAST_UNREAD = -3.0
"""Least log U: the model of reading is not so exact that one would be sure that a suggestion was read."""


@dataclass(frozen=True)
class Likelihood:
    """log L and its derivatives by (ρ, β, κ, η, φ)."""

    value: float
    gradient: Floats
    hessian: Floats
    outer: Floats
    """Σ_sessions score · scoreᵀ."""
    posterior: Floats
    """Of each candidate: the probability that it was intended, by careless and strict people too."""
    by_session: Floats


def likelihood(
    data: AcceptanceData, model: Acceptance, unread: Floats | None = None, sessions: int | None = None
) -> Likelihood:
    """Evaluate at a model whose coefficients are those of `FEATURES` and, after them, of the context's values.

    `unread` is log U of each item, by default that of the model's reading. Only the first `sessions` count, by default
    all.
    """
    size = POSITIONS + len(model.coefficients) + 3
    sessions = data.sessions if sessions is None else sessions
    blocks = max(min(BLOCKS, sessions // 500), 1)
    bounds = _bounds(data, blocks, sessions)
    posterior, by_session = np.zeros(len(data.candidates.values)), np.zeros(data.sessions)
    parts = [(np.zeros(size), np.zeros((size, size)), np.zeros((size, size))) for _ in range(blocks)]
    arrays, values = _arrays(data, model, unread), _values(model)

    def work(block: int) -> None:
        accumulate(bounds[block], bounds[block + 1], arrays, values, *parts[block], posterior, by_session)

    if blocks == 1:
        work(0)
    else:
        with ThreadPoolExecutor(threads()) as pool:
            list(pool.map(work, range(blocks)))
    gradient, hessian, outer = (np.sum(part, axis=0) for part in zip(*parts, strict=True))
    return Likelihood(float(by_session.sum()), gradient, hessian, outer, posterior, by_session)


def forecast(data: AcceptanceData, model: Acceptance) -> Floats:
    """Return the probability that each item of the last list of its session is taken; nothing was taken before.

    The result is parallel to `data.items.values`, and 0 for items of earlier lists.
    """
    result = np.zeros(len(data.items.values))
    _forecast(_arrays(data, model, None), _values(model), result)
    return result


def log_unread(data: AcceptanceData, reading: Floats) -> Floats:
    """Return log U of each item: Σ log(1 − r_j) over the earlier displays of the suggestion in the session.

    Suggestions that are no query of the workspace may be different ones: they count as not shown before.
    """
    result = np.zeros(len(data.items.values))
    passed = np.log(np.maximum(1.0 - reading, 1e-12))
    _log_unread(data.columns.indexed, data.lists, data.items.indexed, passed, result)
    return result


def _arrays(data: AcceptanceData, model: Acceptance, unread: Floats | None) -> tuple[Any, ...]:
    unread = log_unread(data, model.reading_at(POSITIONS)) if unread is None else unread
    return (
        (data.candidates.offsets, data.candidates.weights),
        (data.columns.offsets, data.typed_words, data.corrected),
        (data.lists, data.items.offsets, data.items.values, data.taken),
        (data.starts, data.compared, data.same),
        data.kind,
        (unread, np.exp(model.kept * unread)),
    )


def _values(model: Acceptance) -> tuple[Any, ...]:
    shares = float(model.careless), float(model.strict)
    return model.reading_at(POSITIONS), model.coefficients.astype(np.float64), shares


def _bounds(data: AcceptanceData, blocks: int, sessions: int) -> NDArray[np.int64]:
    """Cut the first sessions into parts of about equal work."""
    work = np.cumsum((data.candidates.lengths * data.columns.lengths + 1)[:sessions])
    inner = np.searchsorted(work, work[-1] * np.arange(1, blocks) / blocks) if sessions else []
    return np.r_[0, inner, sessions].astype(np.int64)


@compiled
def _log_unread(columns: Any, list_offsets: Any, items: Any, passed: Any, result: Any) -> None:
    (column_offsets, suggested), (item_offsets, item) = columns, items
    for session in range(len(list_offsets) - 1):
        begin, n = column_offsets[session], column_offsets[session + 1] - column_offsets[session]
        first = np.zeros(
            n, np.int64
        )  # the first column of the same suggestion: these stand beside each other
        total = np.zeros(n)
        for c in range(1, n):
            again = suggested[begin + c] == suggested[begin + c - 1]
            first[c] = first[c - 1] if again else c
        for i in range(item_offsets[list_offsets[session]], item_offsets[list_offsets[session + 1]]):
            result[i] = 0.0
        for one in range(list_offsets[session], list_offsets[session + 1]):
            for i in range(item_offsets[one], item_offsets[one + 1]):
                c = first[item[i]]
                if suggested[begin + c] >= 0:
                    result[i] = max(total[c], LEAST_UNREAD)
                    total[c] += passed[min(i - item_offsets[one], POSITIONS - 1)]


@subroutine
def _accept(session: Any, arrays: Any, coefficients: Any, accepted: Any) -> None:
    """Write a of the session's candidates × columns, where they are shown first, into `accepted`; in its second half,
    that of strict people."""
    (member_offsets, _), (column_offsets, typed_words, corrected), _, (starts, compared, same), kind, _ = (
        arrays
    )
    at = starts[session]
    constant = coefficients[0]
    if kind[session] >= 0:
        constant += coefficients[6 + kind[session]]
    begin, n = column_offsets[session], column_offsets[session + 1] - column_offsets[session]
    members = member_offsets[session + 1] - member_offsets[session]
    for m in range(members):
        for c in range(n):
            accepted[members + m, c] = 1.0 if same[at] else 0.0
            if same[at]:
                accepted[m, c] = 1.0
            else:
                z = constant + coefficients[2] * compared[at, 0] + coefficients[3] * compared[at, 1]
                z += coefficients[4] * compared[at, 2]
                if typed_words[begin + c]:
                    z += coefficients[1]
                if corrected[begin + c]:
                    z += coefficients[5]
                accepted[m, c] = 1.0 / (1.0 + np.exp(-z))
            at += 1


@subroutine
def _again(accept: Any, factor: Any) -> Any:
    """Return a with its odds multiplied; 1 stays 1."""
    return accept if factor == 1.0 else accept * factor / (1.0 - accept + accept * factor)


@subroutine
def _log_probability(first: Any, last: Any, lists: Any, factors: Any, reading: Any, accepted: Any) -> Any:
    """Return log Π ℓ of the lists `first` to `last` for one candidate, who accepts each column with `accepted`."""
    _, item_offsets, item, taken = lists
    total = 0.0
    for one in range(first, last):
        product = 1.0
        for i in range(item_offsets[one], item_offsets[one + 1]):
            j = i - item_offsets[one]
            t = reading[min(j, POSITIONS - 1)] * _again(accepted[item[i]], factors[i])
            if j + 1 == taken[one]:
                product *= max(t, 1e-300)
                break
            product *= max(1.0 - t, 1e-12)
        total += np.log(max(product, 1e-300))
    return total


@subroutine
def _log_careless(first: Any, last: Any, lists: Any, reading: Any) -> Any:
    """Return log Π ℓ¹ of the lists `first` to `last`."""
    _, item_offsets, _, taken = lists
    total = 0.0
    for one in range(first, last):
        product = 1.0
        for i in range(item_offsets[one], item_offsets[one + 1]):
            j = i - item_offsets[one]
            r = reading[min(j, POSITIONS - 1)]
            if j + 1 == taken[one]:
                product *= max(r, 1e-300)
                break
            product *= max(1.0 - r, 1e-12)
        total += np.log(max(product, 1e-300))
    return total


@compiled
def accumulate(
    first: Any,
    last: Any,
    arrays: Any,
    values: Any,
    gradient: Any,
    hessian: Any,
    outer: Any,
    posterior: Any,
    by_session: Any,
) -> None:
    """Add the derivatives of the sessions `first` to `last`; write their posteriors and log-likelihoods."""
    (member_offsets, probability), (column_offsets, _, _), lists, _, kind, _ = arrays
    reading, coefficients, (careless, strict) = values
    width = len(coefficients)
    size = POSITIONS + width + 3
    score, own, f = np.zeros(size), np.zeros(size), np.zeros(WIDTH)
    cross = np.zeros((POSITIONS, width + 1))
    curvature = np.zeros((width - WIDTH + 1, WIDTH + 1, WIDTH))  # of each context and, last, of none
    for session in range(first, last):
        m0, members = member_offsets[session], member_offsets[session + 1] - member_offsets[session]
        if members == 0:
            continue
        n = column_offsets[session + 1] - column_offsets[session]
        accepted, by_column, weights = np.empty((2 * members, n)), np.empty((3, n)), np.empty(2 * members)
        _accept(session, arrays, coefficients, accepted)
        by_session[session], anyhow, mass = _posterior(session, arrays, values, accepted, weights)
        score[:] = 0.0
        for row in range(2 * members):
            m, weight = row % members, weights[row]
            if row < members:
                posterior[m0 + m] = weight + weights[members + m] + anyhow * probability[m0 + m] / mass
            if weight < NEGLIGIBLE:
                continue
            own[:], by_column[:] = 0.0, 0.0
            own[size - 2] = -careless
            own[size - 1] = -strict if row < members else 1.0 - strict
            _of_lists(session, m, arrays, weight, reading, accepted[row], own, cross, by_column, hessian)
            if row < members:
                _of_columns(session, m, arrays, weight, by_column, f, own, curvature[kind[session]])
            _add_candidate(weight, own, score, hessian)
        if anyhow >= NEGLIGIBLE:
            own[:] = 0.0
            own[size - 2] = 1.0 - careless
            _of_careless(session, lists, anyhow, reading, own, hessian)
            _add_candidate(anyhow, own, score, hessian)
        hessian[size - 2, size - 2] -= careless * (1.0 - careless)
        hessian[size - 1, size - 1] -= (1.0 - anyhow) * strict * (1.0 - strict)
        _add_session(score, gradient, hessian, outer)
    _add_sums(cross, curvature, hessian)
    for a in range(size):
        for b in range(a):
            outer[b, a] = outer[a, b]
            hessian[b, a] = hessian[a, b]


@subroutine
def _posterior(session: Any, arrays: Any, values: Any, accepted: Any, posterior: Any) -> Any:
    """Write the posterior of each candidate, then of each candidate as a strict person; return log L of the session,
    the posterior of careless people, and Σ P(q̄ | x)."""
    (member_offsets, probability), _, lists, _, _, (_, factors) = arrays
    reading, _, (careless, strict) = values
    m0, members = member_offsets[session], member_offsets[session + 1] - member_offsets[session]
    first, last = lists[0][session], lists[0][session + 1]
    best, mass = -np.inf, 0.0
    for row in range(2 * members):
        p = max(np.float64(probability[m0 + row % members]), 1e-300)
        if row < members:
            mass += p
        share = (1.0 - careless) * (1.0 - strict if row < members else strict)
        posterior[row] = -np.inf
        if share > 0.0:
            posterior[row] = np.log(p * share) + _log_probability(
                first, last, lists, factors, reading, accepted[row]
            )
        best = max(best, posterior[row])
    anyhow = -np.inf
    if careless > 0.0:
        anyhow = np.log(mass * careless) + _log_careless(first, last, lists, reading)
        best = max(best, anyhow)
    anyhow = np.exp(anyhow - best)
    total = anyhow
    for row in range(2 * members):
        posterior[row] = np.exp(posterior[row] - best)
        total += posterior[row]
    for row in range(2 * members):
        posterior[row] /= total
    return best + np.log(total), anyhow / total, mass


@subroutine
def _add_session(score: Any, gradient: Any, hessian: Any, outer: Any) -> None:
    for a in range(len(score)):
        gradient[a] += score[a]
        for b in range(a + 1):
            product = score[a] * score[b]
            outer[a, b] += product
            hessian[a, b] -= product


@subroutine
def _add_sums(cross: Any, curvature: Any, hessian: Any) -> None:
    """Add sums over all sessions: second derivatives by ρ and β or κ, and by β and β or κ. The shift of a context has
    those of the constant in its sessions."""
    kinds = len(curvature) - 1
    again = POSITIONS + WIDTH + kinds
    for a in range(POSITIONS):
        for b in range(cross.shape[1]):
            hessian[POSITIONS + b, a] += cross[a, b]
    for kind in range(kinds + 1):
        for a in range(WIDTH):
            hessian[again, POSITIONS + a] += curvature[kind, WIDTH, a]
            for b in range(a + 1):
                hessian[POSITIONS + a, POSITIONS + b] += curvature[kind, a, b]
    for kind in range(kinds):
        shift = POSITIONS + WIDTH + kind
        hessian[again, shift] += curvature[kind, WIDTH, 0]
        hessian[shift, shift] += curvature[kind, 0, 0]
        for a in range(WIDTH):
            hessian[shift, POSITIONS + a] += curvature[kind, a, 0]


@subroutine
def _add_candidate(weight: Any, own: Any, score: Any, hessian: Any) -> None:
    """Add a candidate's score, weighted by its posterior, to that of its session."""
    for a in range(len(own)):
        if own[a] != 0.0:
            weighted = weight * own[a]
            score[a] += weighted
            for b in range(a + 1):
                hessian[a, b] += weighted * own[b]


@subroutine
def _of_careless(session: Any, lists: Any, weight: Any, reading: Any, own: Any, hessian: Any) -> None:
    """Add the derivatives of careless people by ρ."""
    list_offsets, item_offsets, _, taken = lists
    for one in range(list_offsets[session], list_offsets[session + 1]):
        for i in range(item_offsets[one], item_offsets[one + 1]):
            j = min(i - item_offsets[one], POSITIONS - 1)
            if i - item_offsets[one] + 1 == taken[one]:
                own[j] += 1.0
                break
            inverse = 1.0 / max(1.0 - reading[j], 1e-12)
            own[j] -= reading[j] * inverse
            hessian[j, j] -= weight * reading[j] * inverse * inverse


@subroutine
def _of_lists(
    session: Any,
    member: Any,
    arrays: Any,
    weight: Any,
    reading: Any,
    accepted: Any,
    own: Any,
    cross: Any,
    by_column: Any,
    hessian: Any,
) -> None:
    """Add the derivatives of a candidate: first ones by ρ and κ (`own`), second ones by them, weighted (`hessian`), and
    by ρ and β or κ (`cross`), and by the logit of each column: first, second, and mixed with κ (`by_column`)."""
    _, (column_offsets, typed_words, corrected), lists, (starts, compared, same), kind, (unread, factors) = (
        arrays
    )
    list_offsets, item_offsets, item, taken = lists
    begin = column_offsets[session]
    base = starts[session] + member * (column_offsets[session + 1] - begin)
    width = cross.shape[1] - 1
    again = POSITIONS + width
    for one in range(list_offsets[session], list_offsets[session + 1]):
        for i in range(item_offsets[one], item_offsets[one + 1]):
            j = min(i - item_offsets[one], POSITIONS - 1)
            c, u = item[i], unread[i]
            accept = _again(accepted[c], factors[i])
            declined = 1.0 - accept
            chosen = i - item_offsets[one] + 1 == taken[one]
            if chosen:
                own[j] += 1.0
                slope, curve = declined, -accept * declined
            else:
                t = reading[j] * accept
                inverse = 1.0 / max(1.0 - t, 1e-12)
                ratio = t * inverse
                own[j] -= ratio
                hessian[j, j] -= weight * ratio * inverse
                slope = -ratio * declined
                curve = slope * (1.0 - 2.0 * accept + ratio * declined)
                if not same[base + c]:
                    both = weight * slope * inverse
                    cross[j, 0] += both
                    if typed_words[begin + c]:
                        cross[j, 1] += both
                    for a in range(COMPARED):
                        cross[j, 2 + a] += both * compared[base + c, a]
                    if corrected[begin + c]:
                        cross[j, 5] += both
                    if kind[session] >= 0:
                        cross[j, 6 + kind[session]] += both
                    cross[j, width] += both * u
            by_column[0, c] += slope
            by_column[1, c] += curve
            if u != 0.0:
                by_column[2, c] += curve * u
                own[again] += slope * u
                hessian[again, again] += weight * curve * u * u
            if chosen:
                break


@subroutine
def _of_columns(
    session: Any, member: Any, arrays: Any, weight: Any, by_column: Any, f: Any, own: Any, curvature: Any
) -> None:
    """Turn derivatives by the logits of columns into derivatives by β; the last row of `curvature` is for κ."""
    _, (column_offsets, typed_words, corrected), _, (starts, compared, same), kind, _ = arrays
    begin, n = column_offsets[session], column_offsets[session + 1] - column_offsets[session]
    base = starts[session] + member * n
    f[0] = 1.0
    for c in range(n):
        if same[base + c]:
            continue
        f[1] = 1.0 if typed_words[begin + c] else 0.0
        f[2], f[3], f[4] = compared[base + c, 0], compared[base + c, 1], compared[base + c, 2]
        f[5] = 1.0 if corrected[begin + c] else 0.0
        slope, curve, mixed = by_column[0, c], weight * by_column[1, c], weight * by_column[2, c]
        for a in range(WIDTH):
            own[POSITIONS + a] += slope * f[a]
            curvature[WIDTH, a] += mixed * f[a]
            scaled = curve * f[a]
            for b in range(a + 1):
                curvature[a, b] += scaled * f[b]
    if kind[session] >= 0:
        own[POSITIONS + WIDTH + kind[session]] = own[POSITIONS]


@compiled
def _forecast(arrays: Any, values: Any, result: Any) -> None:
    (member_offsets, probability), (column_offsets, _, _), lists, _, _, (_, factors) = arrays
    reading, coefficients, (careless, strict) = values
    list_offsets, item_offsets, item, _ = lists
    for session in range(len(list_offsets) - 1):
        m0, members = member_offsets[session], member_offsets[session + 1] - member_offsets[session]
        n = column_offsets[session + 1] - column_offsets[session]
        accepted = np.empty((2 * members, n))
        _accept(session, arrays, coefficients, accepted)
        first, last = list_offsets[session], list_offsets[session + 1] - 1
        total, mass = 0.0, 0.0
        for row in range(2 * members):
            p = probability[m0 + row % members]
            if row < members:
                mass += p
            reach = (1.0 - careless) * (1.0 - strict if row < members else strict) * p
            reach *= np.exp(_log_probability(first, last, lists, factors, reading, accepted[row]))
            total += reach
            for i in range(item_offsets[last], item_offsets[last + 1]):
                a = _again(accepted[row, item[i]], factors[i])
                t = reading[min(i - item_offsets[last], POSITIONS - 1)] * a
                result[i] += reach * t
                reach *= 1.0 - t
        reach = careless * mass * np.exp(_log_careless(first, last, lists, reading))
        total += reach
        for i in range(item_offsets[last], item_offsets[last + 1]):
            r = reading[min(i - item_offsets[last], POSITIONS - 1)]
            result[i] += reach * r
            reach *= 1.0 - r
        for i in range(item_offsets[last], item_offsets[last + 1]):
            result[i] /= max(total, 1e-300)
