"""Features of pairs of an intended and a suggested query, from which acceptance is learned.

They are those that `query_pairs` computes for whole matrices; here they are computed for pairs, one by one.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.completion.acceptance import FEATURES
from wayword.completion.query_pairs import clear, lay_out, log_share, utility_for
from wayword.completion.query_words import QueryWords
from wayword.numba_jit import compiled, subroutine
from wayword.store.compressed_rows import WeightedRows

COMPARED = 3
"""Features that compare the two queries: intended_words, suggested_words, served."""


@dataclass(frozen=True)
class ComparedQueries:
    """Queries as acceptance compares them: by words, and by what people who intend one find on the page of another."""

    words: QueryWords
    pages: WeightedRows
    demand: WeightedRows
    own_utility: NDArray[np.float32]
    certainty: NDArray[np.float32]
    documents: int

    @property
    def arrays(self) -> tuple[Any, ...]:
        """(words, pages, demand, own utility, certainty)."""
        words, pages, demand = self.words.words.arrays, self.pages.arrays, self.demand.arrays
        return words, pages, demand, self.own_utility, self.certainty


def features(
    intended: NDArray[np.int32],
    suggested: NDArray[np.int32],
    typed_words: NDArray[np.bool_],
    corrected: NDArray[np.bool_],
    queries: ComparedQueries,
) -> NDArray[np.float64]:
    """Return pairs × `FEATURES`. A query of number -1 has neither words nor a page.

    >>> pages = WeightedRows(np.array([0, 1, 2]), np.array([0, 0], np.int32), np.ones(2, np.float32))
    >>> one = np.ones(2, np.float32)
    >>> queries = ComparedQueries(QueryWords.of(["tv", "tv stand"]), pages, pages, one, one, 1)
    >>> pair = np.array([0], np.int32), np.array([1], np.int32), np.array([True]), np.array([False])
    >>> features(*pair, queries).round(2).tolist()
    [[1.0, 1.0, 1.0, 0.68, 1.0, 0.0]]
    """
    result = np.ones((len(intended), len(FEATURES)))
    result[:, 1] = typed_words
    result[:, 5] = corrected
    each = np.arange(len(intended) + 1)
    compared, same = np.zeros((len(intended), COMPARED), np.float32), np.zeros(len(intended), np.bool_)
    alone = np.arange(len(queries.own_utility), dtype=np.int32)
    compare_blocks(
        (each, intended),
        (each, suggested),
        alone,
        queries.arrays,
        each[:-1],
        np.zeros(queries.documents),
        compared,
        same,
    )
    result[:, 2 : 2 + COMPARED] = compared
    return result


@compiled
def compare_blocks(
    members: Any, columns: Any, group: Any, queries: Any, starts: Any, wanted: Any, out: Any, same: Any
) -> None:
    """Compare all members with all columns of each block (row of `members` and of `columns`: offsets, query).

    The features of member m and column c of a block begin at `starts[block] + m · columns + c` of `out`; `same` says
    there whether the two are one suggestion. `wanted` is an array of zeros by document.
    """
    member_offsets, member_query = members
    column_offsets, column_query = columns
    words, pages, demand, own_utility, certainty = queries
    for block in range(len(starts)):
        at = starts[block]
        for m in range(member_offsets[block], member_offsets[block + 1]):
            intended = member_query[m]
            if intended >= 0:
                lay_out(intended, demand, wanted)
            for c in range(column_offsets[block], column_offsets[block + 1]):
                suggested = column_query[c]
                if suggested >= 0 and intended >= 0:
                    compare_words(intended, suggested, words, out[at])
                    utility = utility_for(wanted, own_utility[intended], suggested, pages)
                    out[at, 2] = log_share(certainty[intended] * utility)
                    same[at] = group[suggested] == group[intended]
                at += 1
            if intended >= 0:
                clear(intended, demand, wanted)


@subroutine
def compare_words(intended: Any, suggested: Any, words: Any, out: Any) -> None:
    """Write the share of q̄'s words that q has, and of q's words that q̄ has, into `out`, on a logarithmic scale."""
    word_offsets, word, share = words
    i, i_end = word_offsets[intended], word_offsets[intended + 1]
    j, j_end = word_offsets[suggested], word_offsets[suggested + 1]
    of_intended, of_suggested = 0.0, 0.0
    while i < i_end and j < j_end:
        if word[i] == word[j]:
            of_intended += share[i]
            of_suggested += share[j]
            i += 1
            j += 1
        elif word[i] < word[j]:
            i += 1
        else:
            j += 1
    out[0], out[1] = log_share(of_intended), log_share(of_suggested)
