"""The value of a list of suggestions for the people who typed a text, and the list that maximises it.

    V(L | x)     = Σ_q̄ P(q̄ | x) Σ_j T_j · gain(q_j | q̄)
    gain(q | q̄)  = worth(q̄) · (û(q | q̄) − 1) + λ · saved(x, q̄)
    T_j          = r_j · a(q_j | x, q̄) · Π_{i<j} (1 − r_i · a(q_i | x, q̄))   takes q_j, of those who intend q̄

Members are the intended queries q̄ of a text with P(q̄ | x); the pool are the queries that may be suggested. The gain is
what taking a suggestion is worth beyond typing on; worth(q̄) is what a search for q̄ finds, relative to the average
search. Everything is computed from two dense matrices, members × pool: acceptance a and gain.

A few people take whatever they read (`Acceptance.careless`). They take it from the first list that they see, that of
the first character, and would take something else if it were not there. So they count there as one more member, who
accepts everything, with the gain Σ_q̄ P(q̄ | x) · worth(q̄) · û(q | q̄): what they find.

The list is built greedily by marginal value, and then improved: a suggestion is moved to another place, removed,
inserted or replaced, while this increases V. With S_j = Π_{i<j} (1 − r_i a_i), the share of a member's people who reach
position j, and F_j, the value of what follows position j for those who reach it, a replacement of position j by c is
worth Σ_q̄ P · S_j · r_j · a_c · (gain_c − F_j), for all c at once: a sweep over all positions costs as much as the
greedy list. Of suggestions whose value is within 1 %, the most searched is taken. The most probable intended query is
listed where this costs at most a tenth of the value. The share of each suggestion in V is
positive: none is shown only because it keeps people from a worse one.

Compiled functions that call each other stay in this file, as in `trie`.
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
NEGLIGIBLE = 0.005
"""A list ends before the first suggestion of less than this share of the value of its best one."""
EXPECTED = 0.9
"""The most probable intended query is listed if the list keeps this share of its value: people look for it."""
SHOWN = 10
"""Suggestions of a list that people see: the list is the best of this length."""
SPACE = 32
SMALL = 0.02
"""The share at which the logarithmic scale of features begins; see `log_share`."""


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
    typed: code points of the texts; queries: words, pages by rank, code points, group, searches;
    model: coefficients, reading, keystroke value, share of careless people; scratch: arrays of zeros for words and documents.
    Rows of different lengths are given as offsets, values and weights.
    """
    member_offsets, member_query, probability, saved, worth = members
    pool_offsets, pool_query, core = pool
    words, pages, spelling, group, searches = queries
    coefficients, reading, keystroke_value, careless, strict = model
    for text in range(first, last):
        m0, m1 = member_offsets[text], member_offsets[text + 1]
        c0, c1 = pool_offsets[text], pool_offsets[text + 1]
        if m0 == m1 or c0 == c1:
            continue
        suggested = pool_query[c0:c1]
        gain = _utilities(
            member_query[m0:m1], suggested, pages, demand, own_utility, factors, text, scratch[1]
        )
        accepted = _acceptance(
            member_query[m0:m1],
            suggested,
            gain,
            _continues(typed, text, spelling, suggested),
            corrected[text],
            words,
            group,
            coefficients,
            scratch[0],
        )
        chance, found = probability[m0:m1], np.zeros(c1 - c0)
        for m in range(m1 - m0):
            for c in range(c1 - c0):
                found[c] += chance[m] * worth[m0 + m] * gain[m, c]
                gain[m, c] = worth[m0 + m] * (gain[m, c] - 1.0) + keystroke_value * saved[m0 + m]
        first_list = typed[0][text + 1] - typed[0][text] == 1
        chance, accepted, gain = _with_kinds(
            chance, accepted, gain, found, careless if first_list else 0.0, strict, group, member_query[m0:m1], suggested
        )
        filled = optimise(
            chance,
            accepted,
            gain,
            reading,
            searches,
            suggested,
            core[c0:c1],
            _most_probable(member_query[m0:m1], probability[m0:m1], suggested, core[c0:c1], group),
            query[text],
            value[text],
        )
        most = value[text, :SHOWN].max()
        for j in range(filled):
            if value[text, j] < NEGLIGIBLE * most:
                query[text, j:], value[text, j:] = -1, 0.0
                break
            for m in range(m1 - m0):
                declined[m0 + m] *= 1.0 - reading[j] * accepted[m, query[text, j]]
            query[text, j] = suggested[query[text, j]]


@compiled
def matrices(
    intended: Any,
    suggested: Any,
    typed: Any,
    corrected: Any,
    queries: Any,
    demand: Any,
    own_utility: Any,
    factors: Any,
    coefficients: Any,
    scratch: Any,
) -> Any:
    """Return a(q | x, q̄) and û(q | q̄) of one text, members × pool; the arguments are those of `best_lists`."""
    words, pages, spelling, group, _ = queries
    text = np.int64(0)
    utility = _utilities(intended, suggested, pages, demand, own_utility, factors, text, scratch[1])
    continues = _continues(typed, text, spelling, suggested)
    accepted = _acceptance(
        intended, suggested, utility, continues, corrected, words, group, coefficients, scratch[0]
    )
    return accepted, utility


@compiled
def context_ratio(
    offsets: Any, member: Any, row: Any, factor: Any, pages: Any, demand: Any, own_utility: Any
) -> Any:
    """Return for each intended query its own utility in the context of its text, relative to all contexts."""
    ratio = np.ones(len(member), np.float32)
    for text in range(len(offsets) - 1):
        if row[text] < 0:
            continue
        for m in range(offsets[text], offsets[text + 1]):
            if own_utility[member[m]] > 0.0:
                own = _own_utility(member[m], pages, demand, factor, row[text])
                ratio[m] = own / own_utility[member[m]]
    return ratio


@compiled
def acceptance_of_slots(
    intended: Any,
    offsets: Any,
    suggested: Any,
    continues: Any,
    queries: Any,
    demand: Any,
    own_utility: Any,
    coefficients: Any,
    slot_of: Any,
    wanted: Any,
) -> Any:
    """Return a(q | x, q̄) of the suggestions `offsets[i]` to `offsets[i + 1]` for a person who intends `intended[i]`.

    `wanted` is an array of zeros by document.
    """
    words, pages, _, group, _ = queries
    accepted = np.zeros(len(suggested))
    for person in range(len(intended)):
        first, last = offsets[person], offsets[person + 1]
        q = intended[person]
        utility = np.zeros((1, last - first), np.float32)
        lay_out(q, demand, wanted)
        for slot in range(first, last):
            utility[0, slot - first] = utility_for(wanted, own_utility[q], suggested[slot], pages)
        clear(q, demand, wanted)
        row = _acceptance(
            intended[person : person + 1],
            suggested[first:last],
            utility,
            continues[first:last],
            False,
            words,
            group,
            coefficients,
            slot_of,
        )
        for slot in range(first, last):
            accepted[slot] = row[0, slot - first]
    return accepted


@subroutine
def _with_kinds(
    probability: Any,
    accepted: Any,
    gain: Any,
    found: Any,
    careless: Any,
    strict: Any,
    group: Any,
    intended: Any,
    suggested: Any,
) -> Any:
    """Add those who take whatever they read, and those who accept their own query only, as members; see the top of the
    file. Of the latter, only members whose query may be suggested matter."""
    members, n = accepted.shape
    own = np.full(members, -1, np.int64)
    count = 0
    for m in range(members):
        for c in range(n):
            if group[suggested[c]] == group[intended[m]]:
                own[m] = c
                count += 1
                break
    chance = np.empty(members + count + 1, np.float32)
    accepts = np.zeros((members + count + 1, n), np.float32)
    gains = np.zeros((members + count + 1, n), np.float32)
    at = members
    for m in range(members):
        chance[m] = (1.0 - careless) * (1.0 - strict) * probability[m]
        for c in range(n):
            accepts[m, c], gains[m, c] = accepted[m, c], gain[m, c]
        if own[m] >= 0:
            chance[at] = (1.0 - careless) * strict * probability[m]
            accepts[at, own[m]], gains[at, own[m]] = 1.0, gain[m, own[m]]
            at += 1
    chance[at] = careless
    for c in range(n):
        accepts[at, c], gains[at, c] = 1.0, found[c]
    return chance, accepts, gains


@subroutine
def lay_out(intended: Any, demand: Any, wanted: Any) -> None:
    """Write the demand of an intended query into `wanted`, by document."""
    offsets, document, rate = demand
    for e in range(offsets[intended], offsets[intended + 1]):
        wanted[document[e]] = rate[e]


@subroutine
def clear(intended: Any, demand: Any, wanted: Any) -> None:
    """Set the entries of `lay_out` back to 0."""
    offsets, document, _ = demand
    for e in range(offsets[intended], offsets[intended + 1]):
        wanted[document[e]] = 0.0


@subroutine
def utility_for(wanted: Any, own: Any, suggested: Any, pages: Any) -> Any:
    """Return û(q | q̄) of a suggestion, given the demand of q̄ by document and its own utility; 0 if that is 0."""
    offsets, document, p = pages
    total = 0.0
    for e in range(offsets[suggested], offsets[suggested + 1]):
        total += wanted[document[e]] * p[e]
    return total / own if own > 0.0 else 0.0


@subroutine
def log_share(share: Any) -> Any:
    """Return a share on a logarithmic scale: 0 for 0, 1 for 1 or more, log(1 + share / ε) / log(1 + 1 / ε) between.

    A first word in common counts more than a second one, as does a page that serves a little instead of nothing.
    """
    return np.log(1.0 + min(share, 1.0) / SMALL) / np.log(1.0 + 1.0 / SMALL)


@subroutine
def has_typed_words(typed: Any, begin: Any, end: Any, code: Any, first: Any, last: Any) -> Any:
    """Return whether each word of the text `typed[begin:end]` begins a word of the query `code[first:last]`."""
    word = begin
    while word < end:
        length = 0
        while word + length < end and typed[word + length] != SPACE:
            length += 1
        at, found = first, False
        while at + length <= last and not found:
            same = 0
            while same < length and code[at + same] == typed[word + same]:
                same += 1
            found = same == length
            while at < last and code[at] != SPACE:
                at += 1
            at += 1
        if not found:
            return False
        word += length + 1
    return True


@subroutine
def _continues(typed: Any, text: Any, spelling: Any, suggested: Any) -> Any:
    """Return whether each suggested query has the typed words."""
    typed_offsets, typed_code = typed
    offsets, code = spelling
    result = np.zeros(len(suggested), np.bool_)
    for c in range(len(suggested)):
        q = suggested[c]
        result[c] = has_typed_words(
            typed_code, typed_offsets[text], typed_offsets[text + 1], code, offsets[q], offsets[q + 1]
        )
    return result


@subroutine
def _utilities(  # noqa: PLR0912
    intended: Any,
    suggested: Any,
    pages: Any,
    demand: Any,
    own_utility: Any,
    factors: Any,
    text: Any,
    row_of: Any,
) -> Any:
    """Return û(q | q̄) = ⟨demand(q̄), exposure(q)⟩ / ⟨demand(q̄), exposure(q̄)⟩, members × pool."""
    page_offsets, page_document, page_p = pages
    demand_offsets, demand_document, rate = demand
    factor, factor_row = factors
    context = factor_row[text]
    n, rows = len(suggested), 0
    for c in range(n):
        for e in range(page_offsets[suggested[c]], page_offsets[suggested[c] + 1]):
            if row_of[page_document[e]] == 0:
                rows += 1
                row_of[page_document[e]] = rows
    exposure = np.zeros((rows + 1, n), np.float32)
    for c in range(n):
        for e in range(page_offsets[suggested[c]], page_offsets[suggested[c] + 1]):
            exposure[row_of[page_document[e]], c] = page_p[e]
    utility = np.zeros((len(intended), n), np.float32)
    for m in range(len(intended)):
        q = intended[m]
        row = utility[m]
        for e in range(demand_offsets[q], demand_offsets[q + 1]):
            at = row_of[demand_document[e]]
            if at == 0:
                continue
            amount = rate[e]
            if context >= 0:
                amount *= factor[context, demand_document[e]]
            shown = exposure[at]
            for c in range(n):
                row[c] += amount * shown[c]
        own = own_utility[q]
        if context >= 0:
            own = _own_utility(q, pages, demand, factor, context)
        for c in range(n):
            if suggested[c] == q:
                row[c] = 1.0
            elif own > 0.0:
                row[c] /= own
            else:
                row[c] = 0.0
    for c in range(n):
        for e in range(page_offsets[suggested[c]], page_offsets[suggested[c] + 1]):
            row_of[page_document[e]] = 0
    return utility


@subroutine
def _own_utility(q: Any, pages: Any, demand: Any, factor: Any, context: Any) -> Any:
    """Return ⟨demand(q), exposure(q)⟩ in a context."""
    page_offsets, page_document, page_p = pages
    demand_offsets, demand_document, rate = demand
    own = np.float32(0.0)
    for e in range(demand_offsets[q], demand_offsets[q + 1]):
        for i in range(page_offsets[q], page_offsets[q + 1]):
            if page_document[i] == demand_document[e]:
                own += rate[e] * factor[context, demand_document[e]] * page_p[i]
                break
    return own


@subroutine
def _acceptance(  # noqa: PLR0912
    intended: Any,
    suggested: Any,
    utility: Any,
    continues: Any,
    corrected: Any,
    words: Any,
    group: Any,
    coefficients: Any,
    slot_of: Any,
) -> Any:
    """Return a(q | x, q̄), members × pool; see `acceptance`. `utility` has û(q | q̄)."""
    word_offsets, word_of, share = words
    n, slots = len(suggested), 0
    for c in range(n):
        for e in range(word_offsets[suggested[c]], word_offsets[suggested[c] + 1]):
            if slot_of[word_of[e]] == 0:
                slots += 1
                slot_of[word_of[e]] = slots
    has_word = np.zeros((slots + 1, n), np.float32)
    for c in range(n):
        for e in range(word_offsets[suggested[c]], word_offsets[suggested[c] + 1]):
            has_word[slot_of[word_of[e]], c] = share[e]
    accepted = np.empty((len(intended), n), np.float32)
    of_intended, of_suggested = np.zeros(n), np.zeros(n)
    constant = coefficients[0] + (coefficients[5] if corrected else 0.0)
    for m in range(len(intended)):
        q = intended[m]
        of_intended[:], of_suggested[:] = 0.0, 0.0
        for e in range(word_offsets[q], word_offsets[q + 1]):
            at = slot_of[word_of[e]]
            if at:
                for c in range(n):
                    if has_word[at, c] > 0.0:
                        of_intended[c] += share[e]
                        of_suggested[c] += has_word[at, c]
        for c in range(n):
            if group[suggested[c]] == group[q]:
                accepted[m, c] = 1.0
                continue
            logit = constant + (coefficients[1] if continues[c] else 0.0)
            if of_intended[c] > 0.0:
                logit += coefficients[2] * log_share(of_intended[c])
                logit += coefficients[3] * log_share(of_suggested[c])
            if utility[m, c] > 0.0:
                logit += coefficients[4] * log_share(utility[m, c])
            accepted[m, c] = 1.0 / (1.0 + np.exp(-logit))
    for c in range(n):
        for e in range(word_offsets[suggested[c]], word_offsets[suggested[c] + 1]):
            slot_of[word_of[e]] = 0
    return accepted


@compiled
def optimise(
    probability: Any,
    accepted: Any,
    gain: Any,
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

    The first `SHOWN` are chosen of the `core` as a list of that length; further ones follow greedily, so that a list
    does not depend on the number asked for. There is room for `SHOWN` at least. `expected` is the column of the most
    probable intended query, or -1.
    """
    listed = ~core
    shown = chosen[:SHOWN]
    room = np.empty((SHOWN + 1, len(probability))), np.empty((SHOWN + 1, len(probability)))
    filled = _append(probability, accepted, gain, reading, searches, suggested, shown, 0, listed)
    for _ in range(SWEEPS):
        moved, filled = _move(probability, accepted, gain, reading, shown, filled, listed, room)
        inserted = _insert(probability, accepted, gain, reading, shown, filled, listed, room)
        filled += inserted
        changed = _replace(
            probability, accepted, gain, reading, searches, suggested, shown, filled, listed, room
        )
        if not changed and not moved and not inserted:
            break
    kept = _drop(probability, accepted, gain, reading, shown, value, filled, listed)
    if kept < filled:
        filled = _append(probability, accepted, gain, reading, searches, suggested, shown, kept, listed)
        _, filled = _move(probability, accepted, gain, reading, shown, filled, listed, room)
        kept = _drop(probability, accepted, gain, reading, shown, value, filled, listed)
        kept = _append(probability, accepted, gain, reading, searches, suggested, shown, kept, listed)
    filled = kept
    if expected >= 0 and not listed[expected]:
        filled = _add_expected(probability, accepted, gain, reading, expected, shown, value, filled, listed)
    if filled == SHOWN:
        listed[~core] = False
        filled = _append(probability, accepted, gain, reading, searches, suggested, chosen, filled, listed)
    _shares(probability, accepted, gain, reading, chosen, value, filled)
    chosen[filled:], value[filled:] = -1, 0.0  # where suggestions were that have been removed
    return filled


@subroutine
def _most_probable(intended: Any, probability: Any, suggested: Any, core: Any, group: Any) -> Any:
    """Return the column of the most probable intended query, or of its variant that is shown; -1 if it has none."""
    best = np.argmax(probability)
    for c in range(len(suggested)):
        if core[c] and group[suggested[c]] == group[intended[best]]:
            return c
    return -1


@subroutine
def _add_expected(
    probability: Any,
    accepted: Any,
    gain: Any,
    reading: Any,
    expected: Any,
    chosen: Any,
    value: Any,
    filled: Any,
    listed: Any,
) -> Any:
    """Insert the suggestion that people look for as early as the list keeps its value (`EXPECTED`), instead of the last
    one if the list is full. Nothing changes if there is no such place, or if a suggestion would have no positive share.
    Returns the new length."""
    before = chosen[:filled].copy()
    least = EXPECTED * list_value(probability, accepted, gain, reading, chosen, filled)
    length, place = min(filled + 1, SHOWN), -1
    for at in range(length):
        for j in range(length):
            chosen[j] = before[j] if j < at else expected if j == at else before[j - 1]
        _shares(probability, accepted, gain, reading, chosen, value, length)
        if value[:length].min() > 0.0 and value[:length].sum() >= least:
            place = at
            break
    for j in range(length if place >= 0 else filled):
        chosen[j] = before[j] if j < place or place < 0 else expected if j == place else before[j - 1]
    if place < 0:
        return filled
    if length == filled:
        listed[before[filled - 1]] = False
    listed[expected] = True
    return length


@subroutine
def _drop(
    probability: Any,
    accepted: Any,
    gain: Any,
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
        _shares(probability, accepted, gain, reading, chosen, value, filled)
        worst = np.argmin(value[:filled])
        if value[worst] > 0.0:
            break
        listed[chosen[worst]] = False
        chosen[worst : filled - 1] = chosen[worst + 1 : filled].copy()
        filled -= 1
    return filled


@subroutine
def _append(
    probability: Any,
    accepted: Any,
    gain: Any,
    reading: Any,
    searches: Any,
    suggested: Any,
    chosen: Any,
    filled: Any,
    listed: Any,
) -> Any:
    """Append the suggestion of highest marginal value until none has a positive one. Returns the new length."""
    members, n = accepted.shape
    reach, nothing = probability.astype(np.float64), np.zeros(members)
    for j in range(filled):
        for m in range(members):
            reach[m] *= 1.0 - reading[j] * accepted[m, chosen[j]]
    while filled < min(len(chosen), n):
        c = _best_choice(reach, accepted, gain, nothing, listed, searches, suggested, -1)
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
    reach: Any,
    accepted: Any,
    gain: Any,
    following: Any,
    listed: Any,
    searches: Any,
    suggested: Any,
    current: Any,
) -> Any:
    """Return the column of highest Σ reach · a · (gain − following), of those not listed and the current one.

    Of columns whose value is within 1 % the most searched is returned; -1 if none has a positive value.
    """
    members, n = accepted.shape
    worth = np.zeros(n)
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
    probability: Any,
    accepted: Any,
    gain: Any,
    reading: Any,
    searches: Any,
    suggested: Any,
    chosen: Any,
    filled: Any,
    listed: Any,
    room: Any,
) -> Any:
    """Replace each suggestion by the best one for its position, given the others. Returns whether any changed."""
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
        c = _best_choice(reach, accepted, gain, following[j + 1], listed, searches, suggested, current)
        if c >= 0 and c != current:
            listed[current], listed[c] = False, True
            chosen[j] = c
            changed = True
        for m in range(members):
            reach[m] *= 1.0 - reading[j] * accepted[m, chosen[j]]
    return changed


@subroutine
def list_value(probability: Any, accepted: Any, gain: Any, reading: Any, chosen: Any, filled: Any) -> Any:
    """Return V of the first `filled` columns of `chosen`."""
    total = 0.0
    for m in range(len(probability)):
        following = 0.0
        for j in range(filled - 1, -1, -1):
            taken = reading[j] * accepted[m, chosen[j]]
            following = taken * gain[m, chosen[j]] + (1.0 - taken) * following
        total += probability[m] * following
    return total


@subroutine
def _move(
    probability: Any, accepted: Any, gain: Any, reading: Any, chosen: Any, filled: Any, listed: Any, room: Any
) -> Any:
    """Move each suggestion to the place where it is worth most, or remove it, where that increases V. Returns whether
    any moved, and the new length."""
    columns = chosen[:filled].copy()
    accepts, gains = _rows(accepted, columns), _rows(gain, columns)
    order, others = np.arange(filled), np.empty(filled, np.int64)
    best = list_value(probability, accepted, gain, reading, chosen, filled)
    moved = False
    for j in range(filled - 1, -1, -1):
        row = order[j]
        for i in range(filled - 1):
            others[i] = order[i] if i < j else order[i + 1]
        without, added, place = _placement(
            probability, accepts, gains, reading, others[: filled - 1], row, room
        )
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
def _placement(
    probability: Any, accepts: Any, gains: Any, reading: Any, others: Any, row: Any, room: Any
) -> Any:
    """Return V of the rows `others`, the largest increase by the insertion of one more row, and where that is."""
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
    for j in range(filled + 1):
        added = 0.0
        for m in range(members):
            behind = later[j, m]
            change = reading[j] * accepts[row, m] * (gains[row, m] - behind) + behind - following[j, m]
            added += reach[m] * change
        if added > best:
            best, place = added, j
        if j < filled:
            other = others[j]
            for m in range(members):
                reach[m] *= 1.0 - reading[j] * accepts[other, m]
    return without, best, place


@subroutine
def _insert(  # noqa: PLR0912
    probability: Any, accepted: Any, gain: Any, reading: Any, chosen: Any, filled: Any, listed: Any, room: Any
) -> Any:
    """Insert the suggestion that increases V most, where there is room. Returns the number inserted, 0 or 1."""
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
        for c in range(n):
            added[c] = 0.0
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
def _shares(
    probability: Any, accepted: Any, gain: Any, reading: Any, chosen: Any, value: Any, filled: Any
) -> None:
    """Write Σ_q̄ P · T_j · gain of each suggestion into `value`; their sum is V."""
    reach = probability.astype(np.float64)
    for j in range(filled):
        c, total = chosen[j], 0.0
        for m in range(len(reach)):
            taken = reading[j] * accepted[m, c]
            total += reach[m] * taken * gain[m, c]
            reach[m] *= 1.0 - taken
        value[j] = total
