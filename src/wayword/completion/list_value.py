"""The value of a list of suggestions for the people who typed a text, and the list that maximises it.

    V(L | x)     = Σ_q̄ P(q̄ | x) Σ_j T_j · gain(q_j | q̄)
    gain(q | q̄)  = worth(q̄) · (û(q | q̄) − 1) + λ · saved(x, q̄)
    T_j          = r_j · a(q_j | x, q̄) · Π_{i<j} (1 − r_i · a(q_i | x, q̄))   takes q_j, of those who intend q̄

Members are the intended queries q̄ of a text with P(q̄ | x); the pool are the queries that may be suggested. The gain is
what taking a suggestion is worth beyond typing on; worth(q̄) is what a search for q̄ finds, relative to the average
search. Everything is computed from two dense matrices, members × pool: acceptance a and gain.

The list is built greedily by marginal value, and then improved: a suggestion is moved to another place, removed,
inserted or replaced, while this increases V. With S_j = Π_{i<j} (1 − r_i a_i), the share of a member's people who reach
position j, and F_j, the value of what follows position j for those who reach it, a replacement of position j by c is
worth Σ_q̄ P · S_j · r_j · a_c · (gain_c − F_j), for all c at once: a sweep over all positions costs as much as the
greedy list. Of suggestions whose value is within 1 %, the most searched is taken. The most probable intended query is
listed, as early as this costs at most a tenth of the value.
The share of each suggestion in V is positive: none is shown only because it keeps people from a worse one.
"""

from typing import Any

import numpy as np

from wayword.numba_jit import compiled, subroutine

CLOSE = 0.99
"""A suggestion of at least this share of the best one's value is as good as that, if more people search for it."""
SWEEPS = 3
"""Largest number of rounds of improvements."""
LEAST = 1e-4
"""Smallest value of a suggestion that is shown."""
EXPECTED = 0.9
"""The most probable intended query stands as early as the list keeps this share of its value: people look for it."""
SHOWN = 10
"""Suggestions of a list that people see: the list is the best of this length."""


@compiled
def optimise(
    people: Any,
    reading: Any,
    searches: Any,
    suggested: Any,
    core: Any,
    expected: Any,
    chosen: Any,
    value: Any,
) -> Any:
    """Write the list of highest value into `chosen`, as columns of the matrices, and the share of each of its
    suggestions in V into `value`; the rest is -1 and 0. Returns the number of suggestions.

    people: P(q̄ | x) of each member, acceptance, gain, and `sure`, Σ P · gain of those who accept this suggestion only.
    The first `SHOWN` are chosen of the `core` as a list of that length; further ones follow greedily, so that a list
    does not depend on the number asked for. There is room for `SHOWN` at least. `expected` is the column of the most
    probable intended query, or -1.
    """
    listed = ~core
    shown = chosen[:SHOWN]
    room = np.empty((SHOWN + 1, len(people[0]))), np.empty((SHOWN + 1, len(people[0])))
    filled = _append(people, reading, searches, suggested, shown, 0, listed)
    for _ in range(SWEEPS):
        moved, filled = _move(people, reading, shown, filled, listed, room)
        inserted = _insert(people, reading, shown, filled, listed, room)
        filled += inserted
        changed = _replace(people, reading, searches, suggested, shown, filled, listed, room)
        if not changed and not moved and not inserted:
            break
    kept = _drop(people, reading, shown, value, filled, listed)
    if kept < filled:
        filled = _append(people, reading, searches, suggested, shown, kept, listed)
        _, filled = _move(people, reading, shown, filled, listed, room)
        kept = _drop(people, reading, shown, value, filled, listed)
        kept = _append(people, reading, searches, suggested, shown, kept, listed)
    filled = kept
    if expected >= 0:
        filled = _put_forward(people, reading, expected, shown, value, filled, listed)
    if filled == SHOWN:
        listed[~core] = False
        filled = _append(people, reading, searches, suggested, chosen, filled, listed)
    shares(people, reading, chosen, value, filled)
    chosen[filled:], value[filled:] = -1, 0.0  # where suggestions were that have been removed
    return filled


@subroutine
def _put_forward(
    people: Any,
    reading: Any,
    expected: Any,
    chosen: Any,
    value: Any,
    filled: Any,
    listed: Any,
) -> Any:
    """Put the suggestion that people look for as early as the list keeps its value (`EXPECTED`); in a full list it
    takes the place of the last one. Nothing changes if there is no such place, or if a suggestion would have no
    positive share. Returns the new length."""
    before = chosen[:filled].copy()
    others, count = before.copy(), 0
    for j in range(filled):
        if before[j] != expected:
            others[count] = before[j]
            count += 1
    least = EXPECTED * list_value(people, reading, chosen, filled)
    length, place = min(count + 1, SHOWN), -1
    for at in range(length):
        for j in range(length):
            chosen[j] = others[j] if j < at else expected if j == at else others[j - 1]
        shares(people, reading, chosen, value, length)
        if value[:length].min() > 0.0 and value[:length].sum() >= least:
            place = at
            break
    if place < 0:
        chosen[:filled] = before
        return filled
    if count == length:
        listed[others[count - 1]] = False
    listed[expected] = True
    return length


@subroutine
def _drop(
    people: Any,
    reading: Any,
    chosen: Any,
    value: Any,
    filled: Any,
    listed: Any,
) -> Any:
    """Remove suggestions until the share of each in V is positive. Returns the new length.

    Without this, a suggestion that leads people astray might stay because it keeps them from a worse one that follows.
    """
    while filled:
        shares(people, reading, chosen, value, filled)
        worst = np.argmin(value[:filled])
        if value[worst] > 0.0:
            break
        listed[chosen[worst]] = False
        chosen[worst : filled - 1] = chosen[worst + 1 : filled].copy()
        filled -= 1
    return filled


@subroutine
def _append(
    people: Any,
    reading: Any,
    searches: Any,
    suggested: Any,
    chosen: Any,
    filled: Any,
    listed: Any,
) -> Any:
    """Append the suggestion of highest marginal value until none has a positive one. Returns the new length."""
    probability, accepted, _, _ = people
    members, n = accepted.shape
    reach, nothing = probability.astype(np.float64), np.zeros(members)
    for j in range(filled):
        for m in range(members):
            reach[m] *= 1.0 - reading[j] * accepted[m, chosen[j]]
    while filled < min(len(chosen), n):
        c = _best_choice(reach, people, nothing, listed, searches, suggested, -1)
        if c < 0:
            break
        chosen[filled] = c
        listed[c] = True
        for m in range(members):
            reach[m] *= 1.0 - reading[filled] * accepted[m, c]
        filled += 1
    return filled


@subroutine
def _best_choice(
    reach: Any, people: Any, following: Any, listed: Any, searches: Any, suggested: Any, current: Any
) -> Any:
    """Return the column of highest Σ reach · a · (gain − following) + sure, of those not listed and the current one.

    Of columns whose value is within 1 % the most searched is returned; -1 if none has a positive value.
    """
    _, accepted, gain, sure = people
    members, n = accepted.shape
    worth = sure.copy()
    for m in range(members):
        weight, after = reach[m], following[m]
        for c in range(n):
            worth[c] += weight * accepted[m, c] * (gain[m, c] - after)
    best = LEAST
    for c in range(n):
        if (not listed[c] or c == current) and worth[c] > best:
            best = worth[c]
    choice = -1
    for c in range(n):
        if (listed[c] and c != current) or worth[c] < CLOSE * best or worth[c] <= LEAST:
            continue
        if (
            choice < 0
            or searches[suggested[c]] > searches[suggested[choice]]
            or (searches[suggested[c]] == searches[suggested[choice]] and worth[c] > worth[choice])
        ):
            choice = c
    return choice


@subroutine
def _replace(
    people: Any,
    reading: Any,
    searches: Any,
    suggested: Any,
    chosen: Any,
    filled: Any,
    listed: Any,
    room: Any,
) -> Any:
    """Replace each suggestion by the best one for its position, given the others. Returns whether any changed."""
    probability, accepted, gain, _ = people
    members = len(probability)
    following, _ = room
    for m in range(members):
        following[filled, m] = 0.0
    for j in range(filled - 1, -1, -1):
        c = chosen[j]
        for m in range(members):
            taken = reading[j] * accepted[m, c]
            following[j, m] = taken * gain[m, c] + (1.0 - taken) * following[j + 1, m]
    changed = False
    reach = probability.astype(np.float64)
    for j in range(filled):
        current = chosen[j]
        c = _best_choice(reach, people, following[j + 1], listed, searches, suggested, current)
        if c >= 0 and c != current:
            listed[current], listed[c] = False, True
            chosen[j] = c
            changed = True
        for m in range(members):
            reach[m] *= 1.0 - reading[j] * accepted[m, chosen[j]]
    return changed


@subroutine
def list_value(people: Any, reading: Any, chosen: Any, filled: Any) -> Any:
    """Return V of the first `filled` columns of `chosen`."""
    probability, accepted, gain, sure = people
    total = 0.0
    for j in range(filled):
        total += reading[j] * sure[chosen[j]]
    for m in range(len(probability)):
        following = 0.0
        for j in range(filled - 1, -1, -1):
            taken = reading[j] * accepted[m, chosen[j]]
            following = taken * gain[m, chosen[j]] + (1.0 - taken) * following
        total += probability[m] * following
    return total


@subroutine
def _move(people: Any, reading: Any, chosen: Any, filled: Any, listed: Any, room: Any) -> Any:
    """Move each suggestion to the place where it is worth most, or remove it, where that increases V. Returns whether
    any moved, and the new length."""
    probability, accepted, gain, sure = people
    columns = chosen[:filled].copy()
    listed_people = probability, _rows(accepted, columns), _rows(gain, columns), sure[columns]
    order, others = np.arange(filled), np.empty(filled, np.int64)
    best = list_value(people, reading, chosen, filled)
    moved = False
    for j in range(filled - 1, -1, -1):
        row = order[j]
        for i in range(filled - 1):
            others[i] = order[i] if i < j else order[i + 1]
        without, added, place = _placement(listed_people, reading, others[: filled - 1], row, room)
        if without + max(added, 0.0) <= best * (1.0 + 1e-9) + 1e-12:
            continue
        best, moved = without + max(added, 0.0), True
        if added <= 0.0:
            listed[columns[row]] = False
            filled -= 1
            place = filled
        for i in range(filled):
            order[i] = others[i] if i < place else row if i == place else others[i - 1]
    for j in range(filled):
        chosen[j] = columns[order[j]]
    return moved, filled


@subroutine
def _rows(matrix: Any, columns: Any) -> Any:
    """Return these columns as rows."""
    rows = np.empty((len(columns), len(matrix)))
    for m in range(len(matrix)):
        for j in range(len(columns)):
            rows[j, m] = matrix[m, columns[j]]
    return rows


@subroutine
def _placement(people: Any, reading: Any, others: Any, row: Any, room: Any) -> Any:
    """Return V of the rows `others`, the largest increase by the insertion of one more row, and where that is."""
    probability, accepts, gains, sure = people
    filled, members = len(others), len(probability)
    following, later = room
    for m in range(members):
        following[filled, m], later[filled, m] = 0.0, 0.0
    for j in range(filled - 1, -1, -1):
        other = others[j]
        for m in range(members):
            accept, worth = accepts[other, m], gains[other, m]
            now, next_one = reading[j] * accept, reading[j + 1] * accept
            following[j, m] = now * worth + (1.0 - now) * following[j + 1, m]
            later[j, m] = next_one * worth + (1.0 - next_one) * later[j + 1, m]
    without, best, place = 0.0, -np.inf, -1
    reach = probability.astype(np.float64)
    for m in range(members):
        without += reach[m] * following[0, m]
    moved = 0.0
    for j in range(filled):
        without += reading[j] * sure[others[j]]
        moved += (reading[j + 1] - reading[j]) * sure[others[j]]
    for j in range(filled + 1):
        added = reading[j] * sure[row] + moved
        for m in range(members):
            behind = later[j, m]
            change = reading[j] * accepts[row, m] * (gains[row, m] - behind) + behind - following[j, m]
            added += reach[m] * change
        if added > best:
            best, place = added, j
        if j < filled:
            other = others[j]
            moved -= (reading[j + 1] - reading[j]) * sure[other]
            for m in range(members):
                reach[m] *= 1.0 - reading[j] * accepts[other, m]
    return without, best, place


@subroutine
def _insert(  # noqa: PLR0912
    people: Any, reading: Any, chosen: Any, filled: Any, listed: Any, room: Any
) -> Any:
    """Insert the suggestion that increases V most, where there is room. Returns the number inserted, 0 or 1."""
    probability, accepted, gain, sure = people
    members, n = accepted.shape
    if filled == len(chosen) or filled == n:
        return 0
    following, later = room
    for m in range(members):
        following[filled, m], later[filled, m] = 0.0, 0.0
    for j in range(filled - 1, -1, -1):
        c = chosen[j]
        for m in range(members):
            now, next_one = reading[j] * accepted[m, c], reading[j + 1] * accepted[m, c]
            following[j, m] = now * gain[m, c] + (1.0 - now) * following[j + 1, m]
            later[j, m] = next_one * gain[m, c] + (1.0 - next_one) * later[j + 1, m]
    best, place, choice = LEAST, -1, -1
    reach, added = probability.astype(np.float64), np.empty(n)
    for j in range(filled + 1):
        lost = 0.0
        for i in range(j, filled):
            lost += (reading[i] - reading[i + 1]) * sure[chosen[i]]
        for c in range(n):
            added[c] = reading[j] * sure[c]
        for m in range(members):
            lost += reach[m] * (following[j, m] - later[j, m])
            for c in range(n):
                added[c] += reach[m] * reading[j] * accepted[m, c] * (gain[m, c] - later[j, m])
        for c in range(n):
            if not listed[c] and added[c] - lost > best:
                best, place, choice = added[c] - lost, j, c
        if j < filled:
            for m in range(members):
                reach[m] *= 1.0 - reading[j] * accepted[m, chosen[j]]
    if choice < 0:
        return 0
    for j in range(filled, place, -1):
        chosen[j] = chosen[j - 1]
    chosen[place], listed[choice] = choice, True
    return 1


@subroutine
def shares(people: Any, reading: Any, chosen: Any, value: Any, filled: Any) -> None:
    """Write Σ_q̄ P · T_j · gain of each suggestion into `value`; their sum is V."""
    probability, accepted, gain, sure = people
    reach = probability.astype(np.float64)
    for j in range(filled):
        c, total = chosen[j], reading[j] * sure[chosen[j]]
        for m in range(len(reach)):
            taken = reading[j] * accepted[m, c]
            total += reach[m] * taken * gain[m, c]
            reach[m] *= 1.0 - taken
        value[j] = total
