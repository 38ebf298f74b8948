"""Features of pairs of an intended and a suggested query, from which acceptance is learned.

They are those that `list_value` computes for whole matrices; here they are computed for pairs, one by one.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.completion.acceptance import FEATURES
from wayword.completion.list_value import FIRST
from wayword.completion.query_words import QueryWords
from wayword.numba_jit import compiled, subroutine
from wayword.store.compressed_rows import WeightedRows

COMPARED = 3
"""Features that compare the two queries: intended_words, suggested_words, same_page."""


def features(
    intended: NDArray[np.int32],
    suggested: NDArray[np.int32],
    continues: NDArray[np.bool_],
    corrected: NDArray[np.bool_],
    words: QueryWords,
    pages: WeightedRows,
) -> NDArray[np.float64]:
    """Return pairs × `FEATURES`. A query of number -1 has neither words nor a page.

    >>> words = QueryWords.of(["tv", "tv stand"])
    >>> pages = WeightedRows(np.array([0, 1, 2]), np.array([0, 0], np.int32), np.ones(2, np.float32))
    >>> pair = np.array([0], np.int32), np.array([1], np.int32), np.array([True]), np.array([False])
    >>> features(*pair, words, pages).round(2).tolist()
    [[1.0, 1.0, 1.0, 0.27, 1.0, 0.0]]
    """
    result = np.ones((len(intended), len(FEATURES)))
    result[:, 1] = continues
    result[:, 5] = corrected
    compared = np.zeros((len(intended), COMPARED), np.float32)
    _compare_pairs(intended, suggested, words.words.arrays, pages.arrays, compared)
    result[:, 2 : 2 + COMPARED] = compared
    return result


@compiled
def _compare_pairs(intended: Any, suggested: Any, words: Any, pages: Any, out: Any) -> None:
    for i in range(len(intended)):
        compare(intended[i], suggested[i], words, pages, out[i])


@compiled
def compare_blocks(
    members: Any, columns: Any, group: Any, words: Any, pages: Any, starts: Any, out: Any, same: Any
) -> None:
    """Compare all members with all columns of each block (row of `members` and of `columns`: offsets, query).

    The features of member m and column c of a block begin at `starts[block] + m · columns + c` of `out`; `same` says
    there whether the two are one suggestion.
    """
    member_offsets, member_query = members
    column_offsets, column_query = columns
    for block in range(len(starts)):
        at = starts[block]
        for m in range(member_offsets[block], member_offsets[block + 1]):
            intended = member_query[m]
            for c in range(column_offsets[block], column_offsets[block + 1]):
                suggested = column_query[c]
                compare(intended, suggested, words, pages, out[at])
                same[at] = suggested >= 0 and intended >= 0 and group[suggested] == group[intended]
                at += 1


@subroutine
def compare(intended: Any, suggested: Any, words: Any, pages: Any, out: Any) -> None:
    """Write the share of words and the similarity of pages (cosine of p[rank]) of one pair into `out`."""
    out[0], out[1], out[2] = 0.0, 0.0, 0.0
    if suggested < 0 or intended < 0:
        return
    word_offsets, word, share = words
    i, i_end = word_offsets[intended], word_offsets[intended + 1]
    j, j_end = word_offsets[suggested], word_offsets[suggested + 1]
    while i < i_end and j < j_end:
        if word[i] == word[j]:
            out[0] += share[i]
            out[1] += share[j]
            i += 1
            j += 1
        elif word[i] < word[j]:
            i += 1
        else:
            j += 1
    page_offsets, document, p = pages
    i_begin, i_end = page_offsets[intended], min(page_offsets[intended] + FIRST, page_offsets[intended + 1])
    j_begin = page_offsets[suggested]
    j_end = min(j_begin + FIRST, page_offsets[suggested + 1])
    of_intended, of_suggested, both = 0.0, 0.0, 0.0
    for j in range(j_begin, j_end):
        of_suggested += p[j] * p[j]
    for i in range(i_begin, i_end):
        of_intended += p[i] * p[i]
        for j in range(j_begin, j_end):
            if document[i] == document[j]:
                both += p[i] * p[j]
                break
    if both > 0.0:
        out[2] = both / np.sqrt(of_intended * of_suggested)
