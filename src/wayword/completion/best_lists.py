"""The best list of each of many texts, from the queries that people intend and the queries that may be suggested.

The members of a text are the queries that its people intend; the pool are the queries that may be suggested. Matrices
of acceptance and gain, members × pool, come from `query_pairs`; `list_value` finds the best list.

Two kinds of people count beside those whom the acceptance model describes:

- A few take whatever they read (`Acceptance.careless`). They take it from the first list that they see, that of the
  first character, and would take something else if it were not there. So they count there as one more member, who
  accepts everything, with the gain Σ_q̄ P(q̄ | x) · worth(q̄) · û(q | q̄): what they find.
- Some accept only their own query (`Acceptance.strict`): of each member, this share accepts nothing else.
"""

from typing import Any

import numpy as np

from wayword.completion.list_value import SHOWN, optimise, shares
from wayword.completion.query_pairs import acceptance, typed_words, utilities
from wayword.numba_jit import compiled, subroutine

NEGLIGIBLE, UNRELATED = 0.001, 0.04
"""A suggestion with the typed words is shown if it has at least the first share of the value of the best one, another
one if it has at least the second."""


@compiled
def best_lists(
    first: Any,
    last: Any,
    members: Any,
    pool: Any,
    typed: Any,
    corrected: Any,
    queries: Any,
    demand: Any,
    own_utility: Any,
    factors: Any,
    model: Any,
    scratch: Any,
    query: Any,
    value: Any,
    declined: Any,
) -> None:
    """Fill the rows `first` to `last` of `query` and `value` with the best list of each text, and `declined` with the
    probability that somebody who intends each member takes nothing of it.

    members: offsets, query, P(q̄ | x), saved, worth; pool: offsets, query, core;
    typed: code points of the texts; queries: words, pages by rank, code points, group, searches, certainty;
    model: coefficients, reading, keystroke value, shares of careless and of strict people;
    scratch: arrays of zeros for words and documents.
    Rows of different lengths are given as offsets, values and weights.
    """
    member_offsets, member_query, probability, saved, worth = members
    pool_offsets, pool_query, core = pool
    words, pages, spelling, group, searches, certainty = queries
    coefficients, reading, keystroke_value, careless, strict = model
    for text in range(first, last):
        m0, m1 = member_offsets[text], member_offsets[text + 1]
        c0, c1 = pool_offsets[text], pool_offsets[text + 1]
        if m0 == m1 or c0 == c1:
            continue
        intended, suggested = member_query[m0:m1], pool_query[c0:c1]
        first_list = careless > 0.0 and typed[0][text + 1] - typed[0][text] == 1
        count, kinds = m1 - m0, len(coefficients)
        rows = kinds * count + first_list
        gain = utilities(intended, suggested, pages, demand, own_utility, factors, text, scratch[1], rows)
        has_words = typed_words(typed, text, spelling, suggested)
        accepted = acceptance(
            intended,
            suggested,
            gain,
            certainty,
            has_words,
            corrected[text],
            words,
            group,
            coefficients,
            scratch[0],
            rows,
        )
        if first_list:
            _add_careless(probability[m0:m1], worth[m0:m1], accepted, gain)
        for m in range(count):
            for c in range(c1 - c0):
                gain[m, c] = worth[m0 + m] * (gain[m, c] - 1.0) + keystroke_value * saved[m0 + m]
                for kind in range(1, kinds):
                    gain[kind * count + m, c] = gain[m, c]
        chance, sure = _strict_apart(
            probability[m0:m1],
            kinds,
            group[intended],
            group[suggested],
            gain,
            strict,
            careless if first_list else 0.0,
        )
        people = chance, accepted, gain, sure
        filled = optimise(
            people,
            reading,
            searches,
            suggested,
            core[c0:c1],
            _most_probable(intended, probability[m0:m1], suggested, core[c0:c1], group),
            query[text],
            value[text],
        )
        most = value[text, :SHOWN].max()
        if not corrected[text]:
            kept = _related(query[text], value[text], filled, has_words, UNRELATED * most)
            if kept < filled:
                shares(people, reading, query[text], value[text], kept)
                query[text, kept:], value[text, kept:] = -1, 0.0
                filled = kept
        for j in range(filled):
            if value[text, j] < NEGLIGIBLE * most:
                query[text, j:], value[text, j:] = -1, 0.0
                break
        _decline(accepted, reading, query[text], kinds, declined[m0:m1])
        for j in range(filled):
            if query[text, j] >= 0:
                query[text, j] = suggested[query[text, j]]


@subroutine
def _related(chosen: Any, value: Any, filled: Any, has_words: Any, least: Any) -> Any:
    """Remove suggestions without the typed words that are worth less than `least`; return the number of the others.

    If one of the first `SHOWN` is removed, the list ends with them, else before the first such one after them: the list
    does not depend on the number asked for.
    """
    kept = 0
    for j in range(filled):
        if has_words[chosen[j]] or value[j] >= least:
            chosen[kept] = chosen[j]
            kept += 1
        elif j >= SHOWN:
            break
        if j == SHOWN - 1 and kept < SHOWN:
            break
    return kept


@subroutine
def _add_careless(probability: Any, worth: Any, accepted: Any, gain: Any) -> None:
    """Fill the last row: those who take whatever they read; `gain` has û(q | q̄) of the members."""
    last = len(gain) - 1
    for c in range(gain.shape[1]):
        accepted[last, c] = 1.0
        for m in range(len(probability)):
            gain[last, c] += probability[m] * worth[m] * gain[m, c]


@subroutine
def _strict_apart(
    probability: Any, kinds: Any, intended: Any, suggested: Any, gain: Any, strict: Any, careless: Any
) -> Any:
    """Return the probability of each row, and Σ P · gain of those who accept each suggestion only."""
    chance, sure = np.empty(len(gain), np.float32), np.zeros(gain.shape[1])
    chance[len(gain) - 1] = careless
    members = len(probability)
    for m in range(members):
        share = (1.0 - careless) * probability[m]
        for kind in range(kinds):
            chance[kind * members + m] = (1.0 - strict) * share / kinds
        for c in range(gain.shape[1]):
            if suggested[c] == intended[m]:
                sure[c] += strict * share * gain[m, c]
    return chance, sure


@subroutine
def _decline(accepted: Any, reading: Any, chosen: Any, kinds: Any, declined: Any) -> None:
    """Fill in the probability that somebody takes nothing of a list, the mean over kinds of people."""
    members = len(declined)
    for m in range(members):
        nothing = 0.0
        for kind in range(kinds):
            left = 1.0
            for j in range(len(chosen)):
                if chosen[j] < 0:
                    break
                left *= 1.0 - reading[j] * accepted[kind * members + m, chosen[j]]
            nothing += left / kinds
        declined[m] = nothing


@subroutine
def _most_probable(intended: Any, probability: Any, suggested: Any, core: Any, group: Any) -> Any:
    """Return the column of the most probable intended query, or of its variant that is shown; -1 if it has none."""
    best = np.argmax(probability)
    for c in range(len(suggested)):
        if core[c] and group[suggested[c]] == group[intended[best]]:
            return c
    return -1
