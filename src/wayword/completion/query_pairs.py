"""Pairs of a suggestion and the query that people intend: how well it serves them, and whether they accept it.

    û(q | q̄)    = ⟨demand(q̄), exposure(q)⟩ / ⟨demand(q̄), exposure(q̄)⟩
    a(q | x, q̄) = 1 if q and q̄ are one suggestion, else σ(coefficients · features of the pair)

The lists of many texts need them for whole matrices, intended × suggested queries (`utilities`, `acceptance`); lists
that were shown, for single pairs (`acceptance_features`). Numba does not see when a function of another file changes:
after a change here, delete the caches (`find src -name "*.nb?" -delete`).
"""

from typing import Any

import numpy as np

from wayword.numba_jit import compiled, subroutine

SPACE = 32
SMALL = 0.02
"""The share at which the logarithmic scale of features begins; see `log_share`."""


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
    """Return a(q | x, q̄) and û(q | q̄) of one text, members × pool; for the arguments see `best_lists`."""
    words, pages, spelling, group, _, certainty = queries
    text = np.int64(0)
    rows = len(intended)
    utility = utilities(intended, suggested, pages, demand, own_utility, factors, text, scratch[1], rows)
    has_words = typed_words(typed, text, spelling, suggested)
    accepted = acceptance(
        intended,
        suggested,
        utility,
        certainty,
        has_words,
        corrected,
        words,
        group,
        coefficients,
        scratch[0],
        len(coefficients) * rows,
    )
    return accepted, utility


@compiled
def acceptance_of_slots(
    intended: Any,
    offsets: Any,
    suggested: Any,
    has_words: Any,
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
    words, pages, _, group, _, certainty = queries
    accepted = np.zeros(len(suggested))
    for person in range(len(intended)):
        first, last = offsets[person], offsets[person + 1]
        q = intended[person]
        utility = np.zeros((1, last - first), np.float32)
        lay_out(q, demand, wanted)
        for slot in range(first, last):
            utility[0, slot - first] = utility_for(wanted, own_utility[q], suggested[slot], pages)
        clear(q, demand, wanted)
        row = acceptance(
            intended[person : person + 1],
            suggested[first:last],
            utility,
            certainty,
            has_words[first:last],
            False,
            words,
            group,
            coefficients,
            slot_of,
            1,
        )
        for slot in range(first, last):
            accepted[slot] = row[0, slot - first]
    return accepted


@compiled
def have_typed_words(typed: Any, rows: Any, spelling: Any, suggested: Any) -> Any:
    """Return whether query `suggested[i]` has the words of the text `rows[i]`; -1 is a query without words.

    >>> from wayword.completion.trie import code_points
    >>> typed, queries = code_points(["play", "vid pl"]), code_points(["player", "video player"])
    >>> have_typed_words(typed.indexed, np.array([0, 0, 1]), queries.indexed, np.array([0, 1, 0])).tolist()
    [True, True, False]
    """
    typed_offsets, typed_code = typed
    offsets, code = spelling
    result = np.zeros(len(suggested), np.bool_)
    for i in range(len(suggested)):
        text, q = rows[i], suggested[i]
        if q >= 0:
            result[i] = has_typed_words(
                typed_code, typed_offsets[text], typed_offsets[text + 1], code, offsets[q], offsets[q + 1]
            )
    return result


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


@subroutine
def utilities(  # noqa: PLR0912
    intended: Any,
    suggested: Any,
    pages: Any,
    demand: Any,
    own_utility: Any,
    factors: Any,
    text: Any,
    row_of: Any,
    rows: Any,
) -> Any:
    """Return û(q | q̄) = ⟨demand(q̄), exposure(q)⟩ / ⟨demand(q̄), exposure(q̄)⟩, members × pool; there may be further
    `rows`, of zeros."""
    page_offsets, page_document, page_p = pages
    demand_offsets, demand_document, rate = demand
    factor, factor_row = factors
    context = factor_row[text]
    n, shown_documents = len(suggested), 0
    for c in range(n):
        for e in range(page_offsets[suggested[c]], page_offsets[suggested[c] + 1]):
            if row_of[page_document[e]] == 0:
                shown_documents += 1
                row_of[page_document[e]] = shown_documents
    exposure = np.zeros((shown_documents + 1, n), np.float32)
    for c in range(n):
        for e in range(page_offsets[suggested[c]], page_offsets[suggested[c] + 1]):
            exposure[row_of[page_document[e]], c] = page_p[e]
    utility = np.zeros((rows, n), np.float32)
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
def acceptance(  # noqa: PLR0912
    intended: Any,
    suggested: Any,
    utility: Any,
    certainty: Any,
    has_words: Any,
    corrected: Any,
    words: Any,
    group: Any,
    coefficients: Any,
    slot_of: Any,
    rows: Any,
) -> Any:
    """Return a(q | x, q̄), members × pool, and further `rows` of zeros.

    `utility` has û(q | q̄), `certainty` how far it counts for those who intend each query.
    """
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
    accepted = np.zeros((rows, n), np.float32)
    of_intended, of_suggested = np.zeros(n), np.zeros(n)
    members = len(intended)
    for m in range(members):
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
                for kind in range(len(coefficients)):
                    accepted[kind * members + m, c] = 1.0
                continue
            intended_share, suggested_share, served = 0.0, 0.0, 0.0
            if of_intended[c] > 0.0:
                intended_share, suggested_share = log_share(of_intended[c]), log_share(of_suggested[c])
            if utility[m, c] > 0.0:
                served = log_share(certainty[q] * utility[m, c])
            for kind in range(len(coefficients)):
                weight = coefficients[kind]
                logit = weight[0] + (weight[5] if corrected else 0.0) + (weight[1] if has_words[c] else 0.0)
                logit += weight[2] * intended_share + weight[3] * suggested_share + weight[4] * served
                accepted[kind * members + m, c] = 1.0 / (1.0 + np.exp(-logit))
    for c in range(n):
        for e in range(word_offsets[suggested[c]], word_offsets[suggested[c] + 1]):
            slot_of[word_of[e]] = 0
    return accepted


@subroutine
def typed_words(typed: Any, text: Any, spelling: Any, suggested: Any) -> Any:
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
