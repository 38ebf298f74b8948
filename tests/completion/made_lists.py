"""Lists shown and taken, drawn from the model itself in a small shop of texts."""

from copy import copy

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wayword.completion.acceptance import Acceptance
from wayword.completion.acceptance_candidates import Universe
from wayword.completion.acceptance_features import features
from wayword.completion.acceptance_likelihood import LEAST_UNREAD
from wayword.completion.expected_utility import ExpectedUtilityRetriever
from wayword.completion.list_policy import CORRECTED
from wayword.completion.prefix_matcher import PrefixMatcher
from wayword.completion.query_words import QueryWords
from wayword.completion.shown_lists import ShownLists
from wayword.completion.sparse_topk import DemandGraph
from wayword.completion.suggested_queries import SuggestedQueries, pages_by_rank
from wayword.logs.contexts import from_prefixes
from wayword.store.compressed_rows import CompressedRows, WeightedRows

NOUNS = (
    "lamp",
    "ladder",
    "label",
    "lock",
    "light",
    "lens",
    "bulb",
    "bench",
    "battery",
    "basket",
    "board",
    "broom",
)
KINDS = (
    " red",
    " steel",
    " small",
    " led",
    " set",
    " white",
    " steel small",
    " red led",
    " white set",
    " small red",
)
TEXTS = sorted(noun + kind for noun in NOUNS for kind in KINDS)
SHOWN, PER_SESSION, LONGEST = 10, 5, 8
NEVER = -700.0
LISTS_PER_SESSION = 1.876
"""On average, for `TRUTH`."""
TRUTH = Acceptance(
    np.array([-5.0, 0.8, 2.0, 1.5, 1.0, -0.8]),
    0.8 * np.arange(1, 11, dtype=np.float64) ** -0.5,
    careless=0.03,
    strict=0.2,
)


def values_of(model: Acceptance) -> list[float]:
    """The parameters in the order of `Fit.estimates`."""
    return [*model.coefficients.tolist(), model.kept, model.careless, model.strict, *model.reading.tolist()]


def made_universe(seed: int = 0, texts: list[str] = TEXTS) -> Universe:
    """Every query returns eight of forty documents, more or less wanted; queries of the same noun share some."""
    rng = np.random.default_rng(seed)
    n, documents = len(texts), 40
    noun = np.unique([text.split()[0] for text in texts], return_inverse=True)[1]
    pages = [rng.permutation((noun[q] * 5 + rng.permutation(14)) % documents)[:8] for q in range(n)]
    owner, document = np.repeat(np.arange(n), 8), np.concatenate(pages)
    order = np.lexsort((owner, document))
    p = np.tile(1 / np.arange(1, 9), n).astype(np.float32)
    exposure = WeightedRows.from_lengths(
        owner[order].astype(np.int32), np.bincount(document, minlength=documents), p[order]
    )
    shown = pages_by_rank(exposure, n)
    wanted = rng.uniform(0.2, 1.0, len(shown.values)).astype(np.float32)
    demand = WeightedRows(shown.offsets, shown.values, wanted)
    own = np.bincount(shown.owner, shown.weights * wanted, minlength=n).astype(np.float32)
    retriever = ExpectedUtilityRetriever(
        texts,
        PrefixMatcher.build(texts, np.ones(n, np.bool_)),
        DemandGraph(demand, exposure, n),
        prefix_probability=np.ones(n, np.float32),
        own_utility=own,
        popularity=np.ones(n),
    )
    each = np.arange(n, dtype=np.int32)
    words, spelling = QueryWords.of(texts), retriever.matcher.spelling
    return Universe.of(retriever, SuggestedQueries(words, shown, spelling, each, each, each))


def made_searches(queries: int, seed: int = 0) -> NDArray[np.float64]:
    """Numbers of searches of very different size."""
    return np.random.default_rng(seed).permutation(1000 / np.arange(1, queries + 1)).round() + 1


def sigmoid(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """1/(1 + e⁻ᶻ)."""
    result: NDArray[np.float64] = 1 / (1 + np.exp(-z))
    return result


def first_true(key: NDArray[np.int64], flag: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether each flag is the first true one of its key.

    >>> first_true(np.array([1, 2, 1, 1]), np.array([False, True, True, True])).tolist()
    [False, True, True, False]
    """
    at = np.flatnonzero(flag)
    result = np.zeros(len(key), np.bool_)
    result[at[np.unique(key[at], return_index=True)[1]]] = True
    return result


def sums_before(key: NDArray[np.int64], value: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of the earlier values of the same key, at least `LEAST_UNREAD`.

    >>> sums_before(np.array([1, 2, 1, 1]), np.array([-0.5, -1.0, -0.25, -9.0])).tolist()
    [0.0, 0.0, -0.5, -0.75]
    """
    order = np.argsort(key, kind="stable")
    sums = np.r_[0.0, np.cumsum(value[order])[:-1]]
    begins = np.r_[True, key[order][1:] != key[order][:-1]]
    group = np.cumsum(begins) - 1
    result = np.empty(len(key))
    result[order] = sums - sums[begins][group]
    return np.maximum(result, LEAST_UNREAD)


class Drawing:
    """Sessions of people who intend a query in proportion to `searches` and type it letter by letter.

    Lists are random: queries that continue the text and others among them, so that all features vary. One session in
    five is misspelt from the third letter on, and corrected by the matcher to the same queries.
    """

    def __init__(self, universe: Universe, searches: NDArray[np.float64], model: Acceptance) -> None:
        self.universe, self.searches, self.model = universe, searches, model
        texts = universe.texts
        right = sorted({text[:end] for text in texts for end in range(1, min(len(text), LONGEST + 1))})
        misspelt = [prefix[:2] + "q" + prefix[2:] for prefix in right]
        self.prefixes = right + misspelt
        self.number = {prefix: place for place, prefix in enumerate(right)}
        self.span = universe.continuing(right)
        self.has_words = np.array(
            [
                [
                    all(any(word.startswith(part) for word in text.split()) for part in prefix.split())
                    for text in texts
                ]
                for prefix in right
            ]
        )
        matched = universe.retriever.intents(from_prefixes(misspelt))
        rows = [matched.members.values[matched.members.span(i)].tolist() for i in range(len(right))]
        exact = [
            row == [*range(low, high)] for row, (low, high) in zip(rows, self.span.tolist(), strict=True)
        ]
        self.corrects = np.array(exact) & np.isin(matched.source, CORRECTED)
        n = len(texts)
        intended, suggested = (
            part.ravel() for part in np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
        )
        no = np.zeros(n * n, np.bool_)
        self.pairs = features(
            intended.astype(np.int32), suggested.astype(np.int32), no, no, universe.compared
        )

    def by(self, model: Acceptance) -> "Drawing":
        """The same lists for people of another model."""
        other = copy(self)
        other.model = model
        return other

    def draw(
        self,
        lists: int,
        seed: int,
        shown: int = SHOWN,
        policy: NDArray[np.int64] | None = None,
        *,
        once: bool = False,
        per_session: float = LISTS_PER_SESSION,
    ) -> ShownLists:
        """Draw about this many lists: random ones, or those of a policy (texts without errors × positions).

        `once` draws one decision about each suggestion and session, where it is read first, whatever the model's
        `kept` is.
        """
        rng = np.random.default_rng(seed)
        texts, n = self.universe.texts, len(self.universe.texts)
        lengths = np.array([len(text) for text in texts])
        sessions = max(round(lists / per_session), 1)
        share = self.searches / self.searches.sum()
        intended = rng.choice(n, sessions, p=share)
        steps = np.array([[self.number.get(t[:e], 0) for e in range(1, LONGEST + 1)] for t in texts])
        first, misspells = rng.integers(0, 4, sessions), rng.random(sessions) < 0.2
        session, step = np.repeat(np.arange(sessions), PER_SESSION), np.tile(np.arange(PER_SESSION), sessions)
        use = first[session] + step + 1 < lengths[intended[session]]
        session, step = session[use], step[use]
        prefix = steps[intended[session], first[session] + step]
        use = ~misspells[session] | self.corrects[prefix]
        session, step, prefix = session[use], step[use], prefix[use]
        low, high = self.span[prefix].T
        items = rng.integers(low[:, None], high[:, None], (len(prefix), shown))
        strange = rng.random(items.shape) < 0.6
        items[strange] = rng.integers(0, n, strange.sum())
        if policy is not None:
            items = policy[prefix]
        wrong = misspells[session]
        has_words = self.has_words[prefix[:, None], items] & ~wrong[:, None]
        of_pairs = (self.pairs @ self.model.coefficients).reshape(n, n)
        logit = of_pairs[intended[session][:, None], items] + self.model.coefficients[1] * has_words
        logit += self.model.coefficients[5] * wrong[:, None]
        sure = (items == intended[session][:, None]) | (rng.random(sessions) < self.model.careless)[session][
            :, None
        ]
        logit[(rng.random(sessions) < self.model.strict)[session]] = NEVER
        display = session[:, None] * n + items
        takes = (self._once if once else self._kept)(rng, logit, sure, display)
        taken = np.where(takes.any(axis=1), takes.argmax(axis=1) + 1, 0)
        ended = np.full(sessions, 99)
        np.minimum.at(ended, session[taken > 0], step[taken > 0])
        kept = step <= ended[session]
        session, prefix, items, taken = session[kept], prefix[kept], items[kept], taken[kept]
        prefix = prefix + len(self.corrects) * misspells[session]
        names, session = np.unique(session, return_inverse=True)
        query = intended[names].astype(np.int64)
        took = taken > 0
        query[session[took]] = items[took, taken[took] - 1]
        self.intended = intended[names]
        return ShownLists(
            session.astype(np.int64),
            prefix.astype(np.int64),
            self.prefixes,
            CompressedRows.from_lengths(items.ravel().astype(np.int32), np.full(len(items), shown)),
            taken.astype(np.int64),
            query,
            pa.array([str(name) for name in names]),
            pa.nulls(len(names), pa.string()),
            rng.random(len(names)),
        )

    def _kept(
        self,
        rng: np.random.Generator,
        logit: NDArray[np.float64],
        sure: NDArray[np.bool_],
        display: NDArray[np.int64],
    ) -> NDArray[np.bool_]:
        """Which suggestions are taken by the model; equal `display` is the same suggestion of the same session."""
        reading = np.broadcast_to(self.model.reading_at(logit.shape[1]), logit.shape)
        unread = sums_before(display.ravel(), np.log1p(-reading).ravel()).reshape(logit.shape)
        accept = np.where(sure, 1.0, sigmoid(logit + self.model.kept * unread))
        return np.asarray(rng.random(logit.shape) < accept * reading)

    def _once(
        self,
        rng: np.random.Generator,
        logit: NDArray[np.float64],
        sure: NDArray[np.bool_],
        display: NDArray[np.int64],
    ) -> NDArray[np.bool_]:
        """Which suggestions are taken if people decide where they read a suggestion first."""
        read = rng.random(logit.shape) < self.model.reading_at(logit.shape[1])
        decided = first_true(display.ravel(), read.ravel()).reshape(logit.shape)
        accept = np.where(sure, 1.0, sigmoid(logit) * decided)
        return np.asarray(read & (rng.random(logit.shape) < accept))
