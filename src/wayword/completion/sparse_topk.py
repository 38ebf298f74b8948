"""Documents ↔ queries: demand and exposure, and the best queries as their product.

The mean utility of a query over the searches of a context is an inner product, exactly:

    mean over s of û(s, q) = ⟨demand(x), exposure(q)⟩,   exposure(q)[a] = p[rank_q(a)]

so the best queries of a context over the whole universe are the largest entries of a row of demand · exposureᵀ. The
demand of a context is in turn a mixture of the demands of the queries that it may become. Both products are one
compiled walk over the graph, from the queries to the documents behind them and back to all queries that return those.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wayword.completion.candidates import Candidates
from wayword.numba_jit import compiled
from wayword.store.compressed_rows import WeightedRows

CONTEXTS_AT_ONCE = 256
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2⁶⁴ / the golden ratio: its multiples spread numbers evenly ("Fibonacci hashing")."""


@compiled
def slot_bits(entries: int) -> int:
    """The size of a hash table for so many entries, as a power of two: at most half full.

    >>> slot_bits(0), slot_bits(4), slot_bits(5)
    (1, 3, 4)
    """
    bits = 1
    while 1 << bits < 2 * entries:
        bits += 1
    return bits


@dataclass
class Scratch:
    """Room for one walk, all zeros between walks: to clear what was touched is quicker than to get new room.

    Utilities are added up in a hash table whose size depends on how many queries are met: a few of millions, which then
    stay in the processor's cache. Slot i has the query `slot_query[i] - 1`, or none; what is not used takes no memory.
    """

    demand: NDArray[np.float64]
    documents: NDArray[np.int32]
    allowed: NDArray[np.bool_]
    slot_query: NDArray[np.int32]
    slot_value: NDArray[np.float64]

    @classmethod
    def of(cls, documents: int, queries: int) -> "Scratch":
        """For a universe of this size."""
        slots = 1 << slot_bits(queries)
        return cls(
            np.zeros(documents),
            np.zeros(documents, np.int32),
            np.zeros(queries, np.bool_),
            np.zeros(slots, np.int32),
            np.zeros(slots),
        )


_NO_VALUES, _NO_WEIGHTS = np.zeros(0, np.int32), np.zeros(0, np.float32)


@dataclass(frozen=True)
class Lift:
    """How much more each document is wanted in some contexts: context i has row `row[i]` of `factor`, -1 has none."""

    factor: NDArray[np.float32]
    row: NDArray[np.int32]

    @classmethod
    def none(cls, contexts: int) -> "Lift":
        """Contexts of which nothing is known but the text."""
        return cls(np.ones((0, 0), np.float32), np.full(contexts, -1, np.int32))


@dataclass(frozen=True)
class Graph:
    """Queries, what people want who issue them (`rates`: queries × documents), and who returns what (`returned`:
    documents × queries with p[rank])."""

    rates: WeightedRows
    returned: WeightedRows
    universe: int
    """How many queries may be suggested."""
    _spare: list[Scratch] = field(default_factory=list, repr=False)

    @cached_property
    def documents(self) -> int:
        """How many documents there are."""
        return len(self.returned)

    def best(
        self,
        members: WeightedRows,
        k: int,
        *,
        lift: Lift | None = None,
        within: WeightedRows | None = None,
        documents: int | NDArray[np.int64] = 0,
        threads: int = 1,
    ) -> Candidates:
        """The k queries of highest expected utility for each context, none of utility 0.

        A context is a row of `members`: the queries that it may become, with their weights. `within` names the only
        queries that may be suggested to it. With `documents`, only so many most wanted documents are followed
        (0: all), in all contexts or in each.
        """
        contexts = len(members)
        query, score = np.full((contexts, k), -1, np.int32), np.zeros((contexts, k), np.float32)
        lifted = lift or Lift.none(contexts)
        most = np.full(contexts, documents, np.int64)
        allowed = within or WeightedRows(np.zeros(contexts + 1, np.int64), _NO_VALUES, _NO_WEIGHTS)

        def walk(first: int) -> None:
            try:
                scratch = self._spare.pop()
            except IndexError:  # all in use
                scratch = Scratch.of(self.documents, self.universe)
            _walk(
                first,
                min(first + CONTEXTS_AT_ONCE, contexts),
                members.arrays,
                self.rates.arrays,
                self.returned.arrays,
                (lifted.factor, lifted.row),
                allowed.arrays,
                within is not None,
                most,
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
        found = query >= 0
        return Candidates(np.nonzero(found)[0].astype(np.int32), query[found], score[found])


def best_queries(
    demand: csr_array, exposures: csr_array, k: int, *, within: WeightedRows | None = None, threads: int = 1
) -> Candidates:
    """The k queries of highest expected utility for each row of demand (contexts × documents), none of utility 0.

    Utilities are compared as the float32 they are returned as: sums that differ in the last bits only because their
    terms came in another order are ties, which go by query number.

    >>> demand = csr_array([[0.0, 3.0], [1.0, 0.0]])
    >>> exposures = csr_array([[1.0, 0.5], [0.0, 1.0], [0.5, 0.0]])
    >>> best = best_queries(demand, exposures, k=2)
    >>> list(zip(best.context.tolist(), best.query.tolist(), best.score.tolist()))
    [(0, 1, 3.0), (0, 0, 1.5), (1, 0, 1.0), (1, 2, 0.5)]
    """
    contexts = demand.shape[0]
    each = np.arange(contexts, dtype=np.int32)
    members = WeightedRows(np.arange(contexts + 1, dtype=np.int64), each, np.ones(contexts, np.float32))
    graph = Graph(
        WeightedRows.from_matrix(demand), WeightedRows.from_matrix(csr_array(exposures.T)), exposures.shape[0]
    )
    return graph.best(members, k, within=within, threads=threads)


@compiled
def _walk(
    first: Any,
    last: Any,
    members: Any,
    rates: Any,
    returned: Any,
    lift: Any,
    within: Any,
    restricted: Any,
    most: Any,
    scratch: Any,
    query: Any,
    score: Any,
) -> None:
    """Fill the rows `first` to `last` of `query` and `score`, best first, ties by query number."""
    demand, documents, allowed, slot_query, slot_value = scratch
    within_offsets, within_query, _ = within
    for context in range(first, last):
        wanted = _add_demands(context, members, rates, lift, demand, documents)
        least = 0.0
        if 0 < most[context] < wanted:
            last_kept = wanted - most[context]
            least = np.partition(demand[documents[:wanted]], last_kept)[last_kept]
        only = within_query[within_offsets[context] : within_offsets[context + 1]]
        if restricted:
            allowed[only] = True
        followed, entries = _follow(returned, demand, documents[:wanted], least)
        bits = slot_bits(min(entries, len(allowed)))
        _add_utilities(
            returned, demand, documents[:followed], restricted, allowed, slot_query, slot_value, bits
        )
        _keep_best(slot_query[: 1 << bits], slot_value[: 1 << bits], query[context], score[context])
        if restricted:
            allowed[only] = False


@compiled
def _add_demands(context: Any, members: Any, rates: Any, lift: Any, demand: Any, documents: Any) -> Any:
    """Add up what the queries of a context want. Returns how many `documents` that are."""
    member_offsets, member_query, member_weight = members
    rate_offsets, rate_document, rate = rates
    factor, factor_row = lift
    row = factor_row[context]
    wanted = 0
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
                documents[wanted] = document
                wanted += 1
            demand[document] += amount
    return wanted


@compiled
def _follow(returned: Any, demand: Any, documents: Any, least: Any) -> Any:
    """Bring the documents of at least this demand to the front, and clear the others' demand.

    Returns how many these are, and how often any query returns one of them.
    """
    page_offsets, _, _ = returned
    followed, entries = 0, 0
    for document in documents:
        if demand[document] < least:
            demand[document] = 0.0
            continue
        documents[followed] = document
        followed += 1
        entries += page_offsets[document + 1] - page_offsets[document]
    return followed, entries


@compiled
def _add_utilities(
    returned: Any,
    demand: Any,
    documents: Any,
    restricted: Any,
    allowed: Any,
    slot_query: Any,
    slot_value: Any,
    bits: Any,
) -> None:
    """Add up what each query's page is worth, in the first 2**bits slots, and clear the demand."""
    page_offsets, page_query, page_p = returned
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


@compiled
def _keep_best(slot_query: Any, slot_value: Any, query: Any, score: Any) -> None:
    """Write the best queries of the slots into `query` and `score`, best first, and clear the slots."""
    kept = 0
    for slot in range(len(slot_query)):
        if slot_query[slot] == 0:
            continue
        q, gain = slot_query[slot] - 1, np.float32(slot_value[slot])
        slot_query[slot], slot_value[slot] = 0, 0.0
        if gain <= 0.0:
            continue
        worst = kept - 1
        if kept == len(query) and (gain < score[worst] or (gain == score[worst] and q > query[worst])):
            continue
        kept = min(kept + 1, len(query))
        place = kept - 1
        while place > 0 and (score[place - 1] < gain or (score[place - 1] == gain and query[place - 1] > q)):
            score[place], query[place] = score[place - 1], query[place - 1]
            place -= 1
        score[place], query[place] = gain, q
