"""The expected-utility retriever: from a typed text to the best queries, by arithmetic on pages of a few documents."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from wayword.completion import expected_utility as graph
from wayword.completion.candidates import Candidates
from wayword.completion.context_affinity import Affinity
from wayword.completion.expected_utility import AT_ONCE, ExpectedUtilityRetriever, RecordedPrefixes, largest
from wayword.completion.prefix_matcher import PrefixMatcher
from wayword.completion.retriever_io import (
    load_affinity,
    save_affinity,
)
from wayword.completion.sparse_topk import DemandGraph
from wayword.logs.contexts import from_prefixes
from wayword.request import ANY, MODES, PREFIXED
from wayword.store.compressed_rows import WeightedRows

TEXTS = ["bag", "bag red", "boot", "shoe", "shoe blue", "shoe red", "shore", "umbrella red"]
Numbers = Sequence[Sequence[float]]


def made(
    texts: Sequence[str],
    rates: Numbers,
    shown: Numbers,
    *,
    popularity: Sequence[int] | None = None,
    prefix_probability: Sequence[float] | None = None,
    recorded: RecordedPrefixes | None = None,
    documents_in: Affinity | None = None,
    queries_in: Affinity | None = None,
) -> ExpectedUtilityRetriever:
    """`rates` and `shown` are queries × documents."""
    assert sorted(texts) == list(texts)
    demand, exposed = np.array(rates, np.float64), np.array(shown, np.float64)
    return ExpectedUtilityRetriever(
        texts,
        PrefixMatcher.build(texts, np.ones(len(texts), np.bool_)),
        DemandGraph(
            WeightedRows.from_matrix(csr_array(demand)),
            WeightedRows.from_matrix(csr_array(exposed.T)),
            len(texts),
        ),
        prefix_probability=np.ones(len(texts), np.float32)
        if prefix_probability is None
        else np.array(prefix_probability, np.float32),
        own_utility=(demand * exposed).sum(axis=1).astype(np.float32),
        popularity=np.array(popularity if popularity is not None else [1] * len(texts), np.float64),
        recorded=recorded,
        documents_in=documents_in,
        queries_in=queries_in,
    )


@pytest.fixture
def own_pages() -> ExpectedUtilityRetriever:
    """Query q wants document q, which its own page shows first and that of the next query second."""
    n = len(TEXTS)
    return made(TEXTS, np.eye(n).tolist(), (np.eye(n) + 0.5 * np.eye(n, k=-1)).tolist())


def ask(
    retriever: ExpectedUtilityRetriever, text: str, mode: str = ANY, k: int = 20
) -> list[tuple[str, float, str]]:
    candidates = retriever.retrieve(from_prefixes([text]), k, mode)
    texts = retriever.texts
    return [
        (texts[q], s, source)
        for q, s, source in zip(
            candidates.query.tolist(), candidates.score.tolist(), candidates.sources(), strict=True
        )
    ]


def test_of_too_many_that_a_guess_may_become_the_most_popular_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    n = len(TEXTS)
    popularity = [1, 1, 1, 5, 9, 7, 1, 1]
    retriever = made(TEXTS, np.eye(n).tolist(), np.eye(n).tolist(), popularity=popularity)
    assert {query for query, *_ in ask(retriever, "shoq")} == {"shoe", "shoe blue", "shoe red", "shore"}
    monkeypatch.setattr(graph, "GUESSED_QUERIES", 2)
    retriever = made(TEXTS, np.eye(n).tolist(), np.eye(n).tolist(), popularity=popularity)
    assert {query for query, *_ in ask(retriever, "shoq")} == {"shoe blue", "shoe red"}
    assert len(ask(retriever, "sho")) == 4  # a beginning as it stands is no guess
    monkeypatch.setattr(graph, "GUESSED_DOCUMENTS", 1)
    weighed = made(
        TEXTS, np.diag([1, 1, 1, 1, 3, 2, 1, 1]).tolist(), np.eye(n).tolist(), popularity=popularity
    )
    assert [query for query, *_ in ask(weighed, "shoq")] == ["shoe blue"]


# --- how a text is understood


@pytest.mark.parametrize(
    ("text", "source", "understood"),
    [
        ("sh", "graph", {"shoe", "shoe blue", "shoe red", "shore"}),
        ("shoe", "graph", {"shoe blue", "shoe red"}),  # something is always left to complete
        ("boot", "graph", {"boot"}),  # but where nothing is longer
        ("", "graph", set(TEXTS)),
        ("shpe", "typo", {"shoe", "shoe blue", "shoe red"}),
        ("red", "words", {"bag red", "shoe red", "umbrella red"}),
        ("red sho", "words", {"shoe red"}),
        ("umbrella xyz", "similar", {"umbrella red"}),
        ("umbrelxy", "typo", {"umbrella red"}),
    ],
)
def test_the_ways_to_understand_a_text(
    own_pages: ExpectedUtilityRetriever, text: str, source: str, understood: set[str]
) -> None:
    completions = ask(own_pages, text)
    assert {label for *_, label in completions} == {source}
    assert {query for query, _, _ in completions} >= understood
    continuing = ask(own_pages, text, PREFIXED)
    if source in ("graph", "typo"):
        assert {query for query, _, _ in continuing} == understood
        assert {label for *_, label in continuing} == {source}
    else:  # nothing goes on from a text whose words are elsewhere, or only half of which is known
        assert continuing == []


def test_a_text_that_nothing_is_like_has_no_completion(own_pages: ExpectedUtilityRetriever) -> None:
    for mode in MODES:
        assert ask(own_pages, "zzzzzzzz", mode) == []
        together = own_pages.retrieve(from_prefixes(["zzzzzzzz", "boot", "qqqqqqq"]), 5, mode)
        assert set(together.context.tolist()) == {1}


def test_what_starts_with_the_text_is_never_displaced_by_what_is_only_like_it() -> None:
    """Thousands want "shoe", which is one edit from "shor"; but one query starts with "shor"."""
    retriever = made(["shoe", "shore"], [[9000.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]])
    for mode in MODES:
        assert ask(retriever, "shor", mode) == [("shore", 1.0, "graph")]


# --- scores


def test_one_is_as_good_as_to_type_on() -> None:
    """With one possible query, and no page that serves its demand better, the score is 1."""
    retriever = made(["bag", "boot"], [[3.0, 5.0], [0.0, 7.0]], [[1.0, 0.5], [0.5, 0.4]])
    assert ask(retriever, "ba") == [
        ("bag", 1.0, "graph"),
        ("boot", pytest.approx((3 * 0.5 + 5 * 0.4) / (3 + 5 * 0.5)), "graph"),
    ]


def test_a_better_query_scores_above_one() -> None:
    """Those who type "boots cheap" want document 1, which their own page shows last."""
    retriever = made(
        ["boot", "boots cheap"],
        [[1.0, 0.0], [0.0, 4.0]],
        [[0.0, 1.0], [1.0, 0.25]],
        prefix_probability=[0.5, 0.25],
    )
    assert ask(retriever, "boots") == [("boot", 4.0, "graph"), ("boots cheap", 1.0, "graph")]


@settings(max_examples=60, deadline=None)
@given(data=st.data(), text=st.sampled_from(["", "s", "sh", "shoe", "shoe r", "bag", "red", "bsg", "zzzz"]))
def test_scores_are_those_of_plain_arithmetic(data: st.DataObject, text: str) -> None:
    n, documents = len(TEXTS), 4
    amounts = st.sampled_from([0.0, 0.5, 1.0, 2.0])
    rates, shown = (
        [[data.draw(amounts) for _ in range(documents)] for _ in range(n)] for _ in ("rates", "shown")
    )
    typed = [data.draw(st.sampled_from([0.125, 0.25, 1.0])) for _ in range(n)]
    retriever = made(TEXTS, rates, shown, prefix_probability=typed)
    matched = PrefixMatcher.build(TEXTS, np.ones(n, np.bool_)).matches(text)
    members = [q for q in matched.query.tolist() if TEXTS[q] != text or len(matched.query) == 1]
    demand = [sum(typed[q] * rates[q][a] for q in members) for a in range(documents)]
    total = sum(typed[q] * rates[q][a] * shown[q][a] for q in members for a in range(documents))
    for mode in MODES:
        value = {
            TEXTS[q]: sum(demand[a] * shown[q][a] for a in range(documents))
            for q in (range(n) if mode == ANY else members if matched.source in ("exact", "typo") else [])
        }
        best = sorted((q for q in value if value[q] > 0), key=lambda q: (-value[q], q))
        completions = ask(retriever, text, mode)
        assert [query for query, _, _ in completions] == best
        if total > 0:
            assert [s for _, s, _ in completions] == pytest.approx([value[q] / total for q in best], rel=1e-5)


@pytest.mark.parametrize("mode", MODES)
def test_a_list_is_the_same_alone_as_among_others(own_pages: ExpectedUtilityRetriever, mode: str) -> None:
    texts = ["", "s", "shoe", "bsg", "zzzz", "red", "umbrella xyz", "boot", "s"]
    together = own_pages.retrieve(from_prefixes(texts), 4, mode)
    for place, text in enumerate(texts):
        alone = own_pages.retrieve(from_prefixes([text]), 4, mode)
        at = together.context == place
        for name in ("query", "score", "source"):
            assert np.array_equal(getattr(alone, name), getattr(together, name)[at])
    assert len(own_pages.retrieve(from_prefixes([]), 4, mode).query) == 0


@pytest.mark.parametrize("mode", MODES)
def test_a_text_has_the_same_list_without_a_table(own_pages: ExpectedUtilityRetriever, mode: str) -> None:
    for text in ("", "s", "shoe", "bsg", "zzzz", "red", "umbrella xyz", "boot"):
        one, other = (
            own_pages.retrieve_text(text, 4, mode),
            own_pages.retrieve(from_prefixes([text]), 4, mode),
        )
        for name in ("context", "query", "score", "source"):
            assert np.array_equal(getattr(one, name), getattr(other, name))


@given(st.lists(st.integers(0, 5) | st.integers(0, 1000), min_size=1, max_size=300), st.data())
def test_the_largest_are_those_of_sorting(values: list[int], data: st.DataObject) -> None:
    most = data.draw(st.integers(1, len(values)))
    best = sorted(range(len(values)), key=lambda place: (-values[place], place))[:most]
    assert largest(np.array(values, np.int64), most).tolist() == sorted(best)


def test_demand_is_the_sum_over_what_a_text_may_become(own_pages: ExpectedUtilityRetriever) -> None:
    contexts = from_prefixes(["bag", "zzzz", "boo"])
    demand = own_pages.demand(contexts, own_pages.intents(contexts)).toarray()
    assert demand.tolist() == [np.eye(8)[1].tolist(), [0.0] * 8, np.eye(8)[2].tolist()]


def test_acceptance_is_the_share_of_those_who_go_on_to_a_query() -> None:
    retriever = made(
        ["bag", "bag red", "boot"],
        np.eye(3).tolist(),
        np.eye(3).tolist(),
        popularity=[6, 0, 4],
        prefix_probability=[0.5, 1, 0.25],
    )
    candidates = retriever.most_probable(retriever.intents(from_prefixes(["b", "zzzz", "bag"])), 5)
    assert list(
        zip(candidates.context.tolist(), candidates.query.tolist(), candidates.score.tolist(), strict=True)
    ) == [
        (0, 0, pytest.approx(0.75)),
        (0, 2, pytest.approx(0.25)),
    ]


# --- prefixes as they were typed


def _recorded(rows: dict[str, dict[int, float]], queries: int) -> RecordedPrefixes:
    prefixes = sorted(rows)
    matrix = np.array([[rows[p].get(q, 0.0) for q in range(queries)] for p in prefixes])
    return RecordedPrefixes(
        prefixes, WeightedRows.from_matrix(csr_array(matrix)), matrix.sum(axis=0).astype(np.float32)
    )


@pytest.fixture
def abbreviated() -> ExpectedUtilityRetriever:
    """Nine of ten searches for "washing machine" typed "wm" on the way; "wmx" is a query too."""
    texts = ["washing machine", "wmx"]
    recorded = _recorded({"wm": {0: 9.0, 1: 1.0}, "wash": {0: 1.0}}, 2)
    return made(
        texts,
        [[10.0, 0.0], [0.0, 1.0]],
        [[1.0, 0.0], [0.0, 1.0]],
        recorded=recorded,
        prefix_probability=[0.1, 0.5],
        popularity=[10, 1],
    )


def test_a_recorded_prefix_becomes_what_it_became_in_the_log(abbreviated: ExpectedUtilityRetriever) -> None:
    """Each query that starts with the prefix counts one more search, with the probability of its prefixes."""
    intents = abbreviated.intents(from_prefixes(["wm"]))
    assert intents.members.values.tolist() == [0, 1]
    assert intents.members.weights.tolist() == pytest.approx([9 / 11, 1.5 / 2])
    demand = [10 * 9 / 11, 0.75]
    own = sum(demand)
    completions = ask(abbreviated, "wm")
    assert [(query, source) for query, _, source in completions] == [
        ("washing machine", "graph"),
        ("wmx", "graph"),
    ]
    assert [score for _, score, _ in completions] == pytest.approx([part / own for part in demand])


def test_in_mode_prefix_a_recorded_prefix_shows_only_what_it_begins(
    abbreviated: ExpectedUtilityRetriever,
) -> None:
    assert [query for query, *_ in ask(abbreviated, "wm", PREFIXED)] == ["wmx"]
    assert [query for query, *_ in ask(abbreviated, "wash", PREFIXED)] == ["washing machine"]
    intents = abbreviated.intents(from_prefixes(["wm", "wash"]))
    assert abbreviated.most_probable(intents, 5).query.tolist() == [0, 1, 0]
    assert abbreviated.most_probable(intents, 5, PREFIXED).query.tolist() == [1, 0]


def test_many_texts_at_once_are_matched_as_each_alone(
    abbreviated: ExpectedUtilityRetriever, own_pages: ExpectedUtilityRetriever
) -> None:
    for retriever in (abbreviated, own_pages):
        known = [text[:end] for text in retriever.texts for end in range(len(text) + 1)]
        texts = [*known, "wm", "shpe", "red sho", "zzzz", *known]
        assert len(texts) >= AT_ONCE
        together = retriever.intents(from_prefixes(texts))
        for row, text in enumerate(texts):
            alone = retriever.intents(from_prefixes([text]))
            at = together.members.span(row)
            assert together.members.values[at].tolist() == alone.members.values.tolist()
            assert together.members.weights[at].tolist() == alone.members.weights.tolist()
            assert together.typed_probability[at].tolist() == alone.typed_probability.tolist()
            assert together.continues[at].tolist() == alone.continues.tolist()
            assert (together.source[row], together.typed_query[row]) == (
                alone.source[0] if len(alone.members.values) else together.source[row],
                alone.typed_query[0],
            )


@pytest.mark.parametrize(("text", "source"), [("wsher", "typo"), ("dry", "graph")])
def test_a_recorded_text_that_begins_no_query(text: str, source: str) -> None:
    """A typo matches its corrections and the recorded queries; inner words match only the recorded queries."""
    retriever = made(
        ["washer", "washer dry", "wm"],
        np.eye(3).tolist(),
        np.eye(3).tolist(),
        recorded=_recorded({"wsher": {2: 3.0}, "dry": {2: 1.0}}, 3),
    )
    completions = ask(retriever, text)
    assert {label for *_, label in completions} == {source}
    both = {"washer", "washer dry"}
    assert {query for query, *_ in completions} == ({"wm"} | both if source == "typo" else {"wm"})
    assert {query for query, *_ in ask(retriever, text, PREFIXED)} == (both if source == "typo" else set())


def test_a_prefix_that_was_not_recorded_is_a_beginning(abbreviated: ExpectedUtilityRetriever) -> None:
    assert [query for query, *_ in ask(abbreviated, "was")] == ["washing machine"]


# --- context columns


def _affinity(factors: Numbers, values: Sequence[str] = ("north", "south")) -> Affinity:
    rows = np.array([*factors, np.ones(len(factors[0]))], np.float32)
    return Affinity({"shop": list(values)}, {"shop": rows})


def _in(shop: str | None, text: str) -> pa.Table:
    return pa.table({"prefix": [text], "shop": pa.array([shop], pa.string())})


def _queries(candidates: Candidates) -> list[int]:
    return candidates.query.tolist()


def test_a_context_lifts_the_documents_that_it_wants_more() -> None:
    retriever = made(
        ["bag", "boot"],
        [[2.0, 0.0], [0.0, 1.0]],
        [[1.0, 0.0], [0.0, 1.0]],
        documents_in=_affinity([[0.25, 4.0], [1.0, 1.0]]),
    )
    assert _queries(retriever.retrieve(_in("north", "b"), 2)) == [1, 0]
    for shop in ("south", "elsewhere", None):
        assert _queries(retriever.retrieve(_in(shop, "b"), 2)) == [0, 1]
    assert _queries(retriever.retrieve(from_prefixes(["b"]), 2)) == [0, 1]
    north = retriever.retrieve(_in("north", "b"), 2).score
    assert (north[0] / north[1]).item() == pytest.approx(1.0 * 4.0 / (2.0 * 0.25))
    contexts = _in("north", "b")
    assert retriever.demand(contexts, retriever.intents(contexts)).toarray().tolist() == [[0.5, 4.0]]


def test_a_context_lifts_the_queries_that_it_becomes_more_often() -> None:
    retriever = made(
        ["bag", "boot"],
        [[2.0, 0.0], [0.0, 1.0]],
        [[1.0, 0.0], [0.0, 1.0]],
        queries_in=_affinity([[0.25, 4.0], [1.0, 1.0]]),
    )
    together = pa.concat_tables([_in("north", "b"), _in("south", "b"), _in(None, "b")])
    assert _queries(retriever.retrieve(together, 2)) == [1, 0, 0, 1, 0, 1]
    assert retriever.most_probable(retriever.intents(together), 1).query.tolist() == [1, 0, 0]


# --- files


def test_affinities_are_read_as_they_were_written(tmp_path: Path) -> None:
    assert load_affinity(tmp_path, "shops", 2) is None
    save_affinity(_affinity([[0.5, 2.0], [1.0, 3.0]], ("ñ", "日本")), tmp_path, "shops")
    shops = load_affinity(tmp_path, "shops", 2)
    assert shops is not None
    assert shops.values == {"shop": ["ñ", "日本"]}
    assert shops.factors["shop"].tolist() == [[0.5, 2.0], [1.0, 3.0], [1.0, 1.0]]
