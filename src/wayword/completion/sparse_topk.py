"""Top-k of the sparse product of demand and exposure: the queries of highest expected utility.

The mean utility of a query over the searches of a context is an inner product, exactly:

    mean over s of û(s, q) = ⟨demand(x), exposure(q)⟩,   exposure(q)[a] = p[rank_q(a)]

so the best queries of a context are the largest entries of a row of demand · exposureᵀ. The demand of a context is in
turn a weighted sum of the demands of the intended queries. Both products are one compiled walk over a bipartite graph:
from the intended queries to the documents in demand, and from these to all queries that return them.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wayword.completion.candidates import Candidates
from wayword.completion.selection import kth_smallest
from wayword.numba_jit import compiled, subroutine
from wayword.store.compressed_rows import WeightedRows

CONTEXTS_AT_ONCE = 256
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2⁶⁴ / the golden ratio: its multiples are spread evenly ("Fibonacci hashing")."""


@compiled
def slot_bits(entries: int) -> int:
    """Return the binary logarithm of the size of a hash table that is at most half full with these entries.

    >>> slot_bits(0), slot_bits(4), slot_bits(5)
    (1, 3, 4)
    """
    bits = 1
    while 1 << bits < 2 * entries:
        bits += 1
    return bits


@dataclass
class Scratch:
    """Buffers of one walk, all zeros between walks: clearing the used entries is faster than allocating.

    Utilities are added up in a hash table whose size depends on the number of queries reached, usually few of many,
    so that it stays in the processor's cache. Slot i has the query `slot_query[i] - 1`, or none if that is -1. The
    operating system allocates only the pages of memory that are used.
    """

    demand: NDArray[np.float64]
    documents: NDArray[np.int32]
    allowed: NDArray[np.bool_]
    slot_query: NDArray[np.int32]
    slot_value: NDArray[np.float64]

    @classmethod
    def of(cls, documents: int, queries: int) -> "Scratch":
        """Allocate for these numbers of documents and queries."""
        slots = 1 << slot_bits(queries)
        return cls(
            np.zeros(documents),
            np.zeros(documents, np.int32),
            np.zeros(queries, np.bool_),
            np.zeros(slots, np.int32),
            np.zeros(slots),
        )


_NO_VALUES, _NO_WEIGHTS, _NO_FACTORS = (
    np.zeros(0, np.int32),
    np.zeros(0, np.float32),
    np.ones((0, 0), np.float32),
)


@dataclass(frozen=True)
class ContextFactors:
    """Factors of documents' demand by context: context i has row `row[i]` of `factor`, or no factors if that is -1."""

    factor: NDArray[np.float32]
    row: NDArray[np.int32]


@dataclass(frozen=True)
class DemandGraph:
    """Bipartite graph of queries and documents, with demand and exposure as edge weights."""

    demand: WeightedRows
    """Queries × documents: demand of the searches that issue the query."""
    exposure: WeightedRows
    """Documents × queries: p[rank] of the document on the query's result page."""
    universe: int
    """Number of queries."""
    _spare: list[Scratch] = field(default_factory=list, repr=False)

    @cached_property
    def documents(self) -> int:
        """Number of documents."""
        return len(self.exposure)

    def best(
        self,
        members: WeightedRows,
        k: int,
        *,
        factors: ContextFactors | None = None,
        within: WeightedRows | None = None,
        documents: int | NDArray[np.int64] = 0,
        popularity: NDArray[np.float64] | None = None,
        threads: int = 1,
    ) -> Candidates:
        """Return the k queries of highest expected utility for each context, without those of utility 0.

        Ties go to the more popular query, then to the lower number.

        A context is a row of `members`: the intended queries with their weights. With `within`, only the queries of its
        row may be suggested. `documents` is the number of documents of highest demand to use (0: all), one for all
        contexts or one for each.
        """
        contexts = len(members.offsets) - 1
        query, score = np.full((contexts, k), -1, np.int32), np.zeros((contexts, k), np.float32)
        applied = factors or ContextFactors(_NO_FACTORS, np.full(contexts, -1, np.int32))
        most = np.full(contexts, documents, np.int64)
        searched = np.zeros(self.universe) if popularity is None else popularity
        allowed = within or WeightedRows(np.zeros(contexts + 1, np.int64), _NO_VALUES, _NO_WEIGHTS)

        def walk(first: int) -> None:
            try:
                scratch = self._spare.pop()
            except IndexError:  # all in use
                scratch = Scratch.of(self.documents, self.universe)
            _walk(
                first,
                min(first + CONTEXTS_AT_ONCE, contexts),
                (members.offsets, members.values, members.weights),
                (self.demand.offsets, self.demand.values, self.demand.weights),
                (self.exposure.offsets, self.exposure.values, self.exposure.weights),
                (applied.factor, applied.row),
                (allowed.offsets, allowed.values, allowed.weights),
                within is not None,
                most,
                searched,
                (scratch.demand, scratch.documents, scratch.allowed, scratch.slot_query, scratch.slot_value),
                query,
                score,
            )
            self._spare.append(scratch)

        firsts = range(0, contexts, CONTEXTS_AT_ONCE)
        if threads == 1 or len(firsts) < 2:
            for first in firsts:
                walk(first)
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(walk, firsts))
        filled = query >= 0
        return Candidates(np.nonzero(filled)[0].astype(np.int32), query[filled], score[filled])


def best_queries(
    demand: csr_array, exposures: csr_array, k: int, *, within: WeightedRows | None = None, threads: int = 1
) -> Candidates:
    """Return the k queries of highest expected utility for each row of `demand` (contexts × documents).

    Queries of utility 0 are left out. Utilities are compared as float32, the type that is returned: sums that differ
    only by the rounding of another order of terms are ties, which are broken by query number.

    >>> demand = csr_array([[0.0, 3.0], [1.0, 0.0]])
    >>> exposures = csr_array([[1.0, 0.5], [0.0, 1.0], [0.5, 0.0]])
    >>> best = best_queries(demand, exposures, k=2)
    >>> list(zip(best.context.tolist(), best.query.tolist(), best.score.tolist()))
    [(0, 1, 3.0), (0, 0, 1.5), (1, 0, 1.0), (1, 2, 0.5)]
    """
    contexts = demand.shape[0]
    each = np.arange(contexts, dtype=np.int32)
    members = WeightedRows(np.arange(contexts + 1, dtype=np.int64), each, np.ones(contexts, np.float32))
    graph = DemandGraph(
        WeightedRows.from_matrix(demand), WeightedRows.from_matrix(csr_array(exposures.T)), exposures.shape[0]
    )
    return graph.best(members, k, within=within, threads=threads)


@compiled
def _walk(
    first: Any,
    last: Any,
    members: Any,
    query_demand: Any,
    exposure: Any,
    factors: Any,
    within: Any,
    restricted: Any,
    most: Any,
    searched: Any,
    scratch: Any,
    query: Any,
    score: Any,
) -> None:
    """Fill the rows `first` to `last` of `query` and `score`, best first, ties by popularity and query number."""
    demand, documents, allowed, slot_query, slot_value = scratch
    within_offsets, within_query, _ = within
    for context in range(first, last):
        demanded = _add_demands(context, members, query_demand, factors, demand, documents)
        least = 0.0
        if 0 < most[context] < demanded:
            amounts = np.empty(demanded)
            for i in range(demanded):
                amounts[i] = demand[documents[i]]
            least = kth_smallest(amounts, demanded - most[context])
        only = within_query[within_offsets[context] : within_offsets[context + 1]]
        if restricted:
            for q in only:
                allowed[q] = True
        followed, entries = _follow(exposure, demand, documents[:demanded], least)
        bits = slot_bits(min(entries, len(allowed)))
        _add_utilities(
            exposure, demand, documents[:followed], restricted, allowed, slot_query, slot_value, bits
        )
        _keep_best(slot_query[: 1 << bits], slot_value[: 1 << bits], searched, query[context], score[context])
        if restricted:
            for q in only:
                allowed[q] = False


@subroutine
def _add_demands(
    context: Any, members: Any, query_demand: Any, factors: Any, demand: Any, documents: Any
) -> Any:
    """Add up the demands of a context's queries. Returns the number of `documents` with demand."""
    member_offsets, member_query, member_weight = members
    rate_offsets, rate_document, rate = query_demand
    factor, factor_row = factors
    row = factor_row[context]
    demanded = 0
    for m in range(member_offsets[context], member_offsets[context + 1]):
        q, weight = member_query[m], member_weight[m]
        for j in range(rate_offsets[q], rate_offsets[q + 1]):
            amount = weight * rate[j]
            document = rate_document[j]
            if row >= 0:
                amount *= factor[row, document]
            if amount <= 0.0:
                continue
            if demand[document] == 0.0:
                documents[demanded] = document
                demanded += 1
            demand[document] += amount
    return demanded


@subroutine
def _follow(exposure: Any, demand: Any, documents: Any, least: Any) -> Any:
    """Move the documents of at least this demand to the front, and clear the demand of the others.

    Returns the number of documents kept, and the number of their entries in the exposure.
    """
    page_offsets, _, _ = exposure
    followed, entries = 0, 0
    for document in documents:
        if demand[document] < least:
            demand[document] = 0.0
            continue
        documents[followed] = document
        followed += 1
        entries += page_offsets[document + 1] - page_offsets[document]
    return followed, entries


@subroutine
def _add_utilities(
    exposure: Any,
    demand: Any,
    documents: Any,
    restricted: Any,
    allowed: Any,
    slot_query: Any,
    slot_value: Any,
    bits: Any,
) -> None:
    """Add up the utility of each query in the first 2**bits slots, and clear the demand."""
    page_offsets, page_query, page_p = exposure
    shift, last = np.uint64(64 - bits), (1 << bits) - 1
    for document in documents:
        amount = demand[document]
        demand[document] = 0.0
        for j in range(page_offsets[document], page_offsets[document + 1]):
            q, part = page_query[j], amount * page_p[j]
            if part <= 0.0 or (restricted and not allowed[q]):
                continue
            slot = np.int64((np.uint64(q) * _GOLDEN) >> shift)
            while slot_query[slot] != q + 1 and slot_query[slot] != 0:
                slot = (slot + 1) & last
            slot_query[slot] = q + 1
            slot_value[slot] += part


@subroutine
def _keep_best(slot_query: Any, slot_value: Any, searched: Any, query: Any, score: Any) -> None:
    """Write the best queries of the slots into `query` and `score`, best first, and clear the slots."""
    kept = 0
    for slot in range(len(slot_query)):
        if slot_query[slot] == 0:
            continue
        q, gain = slot_query[slot] - 1, np.float32(slot_value[slot])
        slot_query[slot], slot_value[slot] = 0, 0.0
        if gain <= 0.0 or (
            kept == len(query) and not _precedes(q, gain, query[kept - 1], score[kept - 1], searched)
        ):
            continue
        kept = min(kept + 1, len(query))
        place = kept - 1
        while place > 0 and _precedes(q, gain, query[place - 1], score[place - 1], searched):
            score[place], query[place] = score[place - 1], query[place - 1]
            place -= 1
        score[place], query[place] = gain, q


@subroutine
def _precedes(q: Any, gain: Any, other: Any, other_gain: Any, searched: Any) -> Any:
    """Return whether a query comes before another: by score, then by popularity, then by number."""
    if gain != other_gain:
        return gain > other_gain
    if searched[q] != searched[other]:
        return searched[q] > searched[other]
    return q < other
