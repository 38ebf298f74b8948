"""The policy `wayword`: scores recomputed in plain Python from texts, pages, demand and searches; properties."""

import math
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import pytest
from slow_list_value import shares

from shop import QUERIES, Shop
from wayword.completion import stage
from wayword.completion.candidates import SOURCES
from wayword.completion.keystroke_value import expected_characters, lists_shown
from wayword.completion.list_policy import INSIDE, TYPED_AGAIN, ListPolicy
from wayword.completion.list_value import EXPECTED, SHOWN
from wayword.completion.survival import DAMPING, INATTENTIVE, LONGEST, with_survival
from wayword.completion.typing_outcomes import Keystrokes, Slots
from wayword.index.prefix_groups import group_prefixes
from wayword.logs.contexts import from_prefixes
from wayword.request import ANY, MODES, PREFIXED

PREFIXES = sorted({text[:end] for text in QUERIES for end in range(1, len(text) + 1) if text[end - 1] != " "})
GUESSES = ["lx", "lamo", "steel la", "small", "zzz", "latern", "ladder stel", ""]
Texts = list[str]


@pytest.fixture(scope="module")
def policy(shop: Shop) -> ListPolicy:
    return stage.load_lists(shop.folders)


@pytest.fixture(scope="module")
def slow(policy: ListPolicy) -> "Slow":
    return Slow.of(policy)


@dataclass(frozen=True)
class Slow:
    """The same policy in plain Python: dictionaries by query number."""

    policy: ListPolicy
    demand: list[dict[int, float]]
    page: list[dict[int, float]]

    @classmethod
    def of(cls, policy: ListPolicy) -> "Slow":
        graph = policy.retriever.graph
        demand = [
            dict(zip(graph.demand.values[at].tolist(), graph.demand.weights[at].tolist(), strict=True))
            for at in map(graph.demand.span, range(len(QUERIES)))
        ]
        page: list[dict[int, float]] = [{} for _ in QUERIES]
        for document in range(graph.documents):
            at = graph.exposure.span(document)
            for query, p in zip(
                graph.exposure.values[at].tolist(), graph.exposure.weights[at].tolist(), strict=True
            ):
                page[query][document] = p
        return cls(policy, demand, page)

    def finds(self, intended: int, query: int) -> float:
        """⟨demand(q̄), exposure(q)⟩."""
        return sum(d * self.page[query].get(a, 0.0) for a, d in self.demand[intended].items())

    def utility(self, intended: int, query: int) -> float:
        """û(q | q̄)."""
        own = self.finds(intended, intended)
        return 1.0 if query == intended else self.finds(intended, query) / own if own > 0 else 0.0

    def worth(self, query: int) -> float:
        """What a search finds, relative to the average search, with two average searches added."""
        searches = self.policy.retriever.popularity.tolist()
        average = sum(self.finds(q, q) for q in range(len(QUERIES))) / sum(searches)
        return (self.finds(query, query) / average + 2) / (searches[query] + 2)

    def certainty(self, query: int) -> float:
        """o / (o + 1/10), where o is what a search finds relative to the average search."""
        searches = self.policy.retriever.popularity.tolist()
        average = sum(self.finds(q, q) for q in range(len(QUERIES))) / sum(searches)
        relative = self.finds(query, query) / searches[query] / average
        return relative / (relative + 1 / 10)

    def acceptance(self, typed: str, intended: int, query: int, kind: int | None = None) -> float:
        """a(q | x, q̄) of words and utility, of a kind of people or of the average one; the shop has no variants."""
        if query == intended:
            return 1.0
        words = Counter(word for text in QUERIES for word in set(text.split()))
        rarity = {word: math.log((len(QUERIES) + 1) / count) for word, count in words.items()}
        one, other = (set(QUERIES[q].split()) for q in (intended, query))
        both = sum(rarity[word] for word in one & other)
        features = [
            1.0,
            has_words(self.shortest(typed), QUERIES[query]),
            log_share(both / sum(rarity[word] for word in one)),
            log_share(both / sum(rarity[word] for word in other)),
            log_share(self.certainty(intended) * self.utility(intended, query)),
            not has_words(typed, QUERIES[intended]),
        ]
        model = self.policy.acceptance
        coefficients = model.coefficients if kind is None else model.by_kind[kind]
        return 1 / (1 + math.exp(-float(np.dot(features, coefficients))))

    def members(self, typed: str) -> dict[int, tuple[float, float]]:
        """P(q̄ | x) and saved(x, q̄) of the queries that the typed text begins, and of those that have it inside."""
        begun, shortest = (
            [q for q, text in enumerate(QUERIES) if text.startswith(typed)],
            self.shortest(typed),
        )
        inside: list[int] = []
        if typed in QUERIES and " " not in typed:
            whole = [q for q, text in enumerate(QUERIES) if len(typed) >= 3 or typed in text.split()]
            inside = [q for q in whole if has_words(typed, QUERIES[q]) and q not in begun]
        onward = [q for q in begun if QUERIES[q] != typed]
        onward = onward if onward or inside else begun
        count = self.policy.retriever.popularity.tolist()
        searches = {q: count[q] * self.left(q, len(shortest)) for q in onward}
        searches |= {q: count[q] * INSIDE for q in inside}
        saved = {q: (len(QUERIES[q]) - len(shortest)) / len(QUERIES[q]) for q in onward}
        saved |= {q: max((len(QUERIES[q]) - len(shortest)) / len(QUERIES[q]), TYPED_AGAIN) for q in inside}
        return {
            q: (searches[q] / sum(searches.values()), 0.0 if QUERIES[q] == typed else saved[q])
            for q in searches
            if searches[q]
        }

    def shortest(self, typed: str) -> str:
        """The shortest text that the same queries continue: it has the same list. A query has its own."""
        begun = [text for text in QUERIES if text.startswith(typed)]
        if typed in QUERIES or not begun:
            return typed
        return next(
            typed[:end]
            for end in range(1, len(typed) + 1)
            if [text for text in QUERIES if text.startswith(typed[:end])] == begun
        )

    def left(self, query: int, length: int) -> float:
        """The survival of those who intend a query, at a text of this length."""
        survival = self.policy.survival
        return (
            float(survival[query, min(length - 1, LONGEST) - 1])
            if survival is not None and length > 1
            else 1.0
        )

    def nothing(self, typed: str, intended: int, listed: list[int]) -> float:
        """The probability that somebody takes nothing of a list."""
        model = self.policy.acceptance
        accepted = [
            [self.acceptance(typed, intended, query, kind) for query in listed]
            for kind in range(len(model.by_kind))
        ]
        return float(
            np.mean(
                [
                    math.prod(1 - r * a for r, a in zip(model.reading, of_kind, strict=False))
                    for of_kind in accepted
                ]
            )
        )

    def shares(self, typed: str, listed: list[int]) -> list[float]:
        """The share of each suggestion in V: straight from the formula."""
        members, model = self.members(typed), self.policy.acceptance
        every, kinds = range(len(QUERIES)), range(len(model.by_kind))
        careless = model.careless if len(self.shortest(typed)) == 1 else 0.0
        accepted = [[self.acceptance(typed, m, q, kind) for q in every] for kind in kinds for m in members]
        accepted += [[float(q == m) for q in every] for m in members] + [[1.0 for _ in every]]
        gain = [
            [
                self.worth(m) * (self.utility(m, q) - 1) + self.policy.keystroke_value * saved
                for q in range(len(QUERIES))
            ]
            for m, (_, saved) in members.items()
        ]
        finds = [
            sum(chance * self.worth(m) * self.utility(m, q) for m, (chance, _) in members.items())
            for q in every
        ]
        share = [(1 - model.strict) / len(kinds) for _ in kinds] + [model.strict]
        probability = [(1 - careless) * one * chance for one in share for chance, _ in members.values()] + [
            careless
        ]
        return shares(probability, accepted, [*gain * len(share), finds], model.reading.tolist(), listed)


def has_words(typed: str, query: str) -> bool:
    """Whether each typed word begins a word of the query."""
    return all(any(word.startswith(part) for word in query.split()) for part in typed.split())


def log_share(share: float) -> float:
    """0 for 0, 1 for 1 and more."""
    return math.log1p(min(share, 1.0) / 0.02) / math.log1p(1 / 0.02)


def lists(policy: ListPolicy, texts: Texts, k: int = SHOWN, mode: str = ANY) -> list[list[tuple[int, float]]]:
    """One list of (query, score) for each text."""
    found = policy.complete(from_prefixes(texts), k, mode=mode)
    result: list[list[tuple[int, float]]] = [[] for _ in texts]
    for row, query, score in zip(found.context, found.query, found.score, strict=True):
        result[row].append((int(query), float(score)))
    return result


@pytest.mark.parametrize("value", [0.0, None, 3.0])
@pytest.mark.parametrize("mode", MODES)
def test_scores_are_those_of_the_formula(
    value: float | None, mode: str, policy: ListPolicy, slow: Slow
) -> None:
    """From texts to scores: a, û, P(q̄ | x), saved and worth are computed anew."""
    if value is not None:
        policy = replace(policy, keystroke_value=value)
        slow = replace(slow, policy=policy)
    compared = 0
    for typed, found in zip(PREFIXES, lists(policy, PREFIXES, mode=mode), strict=True):
        expected = slow.shares(typed, [query for query, _ in found])
        np.testing.assert_allclose([score for _, score in found], expected, rtol=1e-4, atol=1e-6)
        compared += len(found)
    assert compared > (50 if value != 0.0 else 5)


def test_survival_is_what_the_lists_of_shorter_texts_leave(policy: ListPolicy, slow: Slow) -> None:
    shown = dict(zip(PREFIXES, lists(policy, PREFIXES), strict=True))
    assert policy.survival is not None
    for number, text in enumerate(QUERIES):
        left = 1.0
        for length in range(1, LONGEST + 1):
            typed = text[:length]
            if length < len(text) and not typed.endswith(" "):
                left *= slow.nothing(typed, number, [query for query, _ in shown[typed]]) ** DAMPING
            left = max(left, INATTENTIVE)
            assert policy.survival[number, length - 1] == pytest.approx(left, rel=1e-4)
    assert policy.survival.min() == INATTENTIVE < policy.survival.max() < 1


def test_survival_of_some_queries_is_that_of_all(policy: ListPolicy) -> None:
    some = ["laptop steel", "lock"]
    all_texts, few = with_survival(policy), with_survival(policy, some)
    assert all_texts.survival is not None
    assert few.survival is not None
    rows = [QUERIES.index(text) for text in some]
    assert few.survival[rows].tolist() == all_texts.survival[rows].tolist()
    assert lists(few, ["la", "lap", "lapt", "laptop"]) == lists(all_texts, ["la", "lap", "lapt", "laptop"])


@pytest.mark.parametrize("mode", MODES)
def test_what_is_remembered_serves_other_keystroke_values(mode: str, policy: ListPolicy) -> None:
    texts, remembering = [*QUERIES, *(query[:2] for query in QUERIES)], policy.remembering()
    for value in (0.0, 3.0, 0.4):
        fresh, kept = (
            with_survival(replace(one, keystroke_value=value), QUERIES) for one in (policy, remembering)
        )
        assert lists(kept, texts, mode=mode) == lists(fresh, texts, mode=mode)


@pytest.mark.parametrize("mode", MODES)
def test_no_single_change_to_a_list_is_worth_more(mode: str, policy: ListPolicy, slow: Slow) -> None:
    """Leaving one out, or another in its place, gains no more than what may be given to queries that are searched more:
    1 %, and 10 % for the most probable one, which stands early."""
    for typed, found in zip(PREFIXES[::4], lists(policy, PREFIXES[::4], mode=mode), strict=True):
        listed = [query for query, _ in found]
        whole = sum(slow.shares(typed, listed))
        may = [
            q
            for q, text in enumerate(QUERIES)
            if text != typed and q not in listed and (mode == ANY or text.startswith(typed))
        ]
        others = [[*listed[:j], *listed[j + 1 :]] for j in range(len(listed))]
        others += [[*listed[:j], q, *listed[j + 1 :]] for j in range(len(listed)) for q in may]
        for other in others:
            of_each = slow.shares(typed, other)
            assert min(of_each, default=0) < 0 or sum(of_each) <= whole * 1.011 / EXPECTED + 1e-4


@pytest.mark.parametrize("mode", MODES)
def test_every_score_is_positive_and_no_query_is_listed_twice(mode: str, policy: ListPolicy) -> None:
    for value in (0.0, 0.1, 1.0, 5.0):
        for found in lists(replace(policy, keystroke_value=value), [*PREFIXES, *GUESSES], mode=mode):
            assert all(score > 0 for _, score in found)
            assert len({policy.queries.lookalike[query] for query, _ in found}) == len(found)


@pytest.mark.parametrize("mode", MODES)
def test_a_list_does_not_depend_on_how_many_are_asked_for(mode: str, policy: ListPolicy) -> None:
    texts = [*PREFIXES, *GUESSES]
    for k in (1, 3, 9, 15, 18, 24, 25, 200):
        for fewer, ten in zip(lists(policy, texts, k, mode), lists(policy, texts, SHOWN, mode), strict=True):
            assert fewer[:SHOWN] == ten[:k]


def test_a_list_is_the_same_alone_in_any_order_and_with_threads(policy: ListPolicy, shop: Shop) -> None:
    texts = [*PREFIXES, *GUESSES] * 3
    together = lists(policy, texts)
    assert lists(policy, texts[::-1]) == together[::-1]
    assert [lists(policy, [text])[0] for text in texts[:40]] == together[:40]
    assert lists(stage.load_lists(shop.folders, threads=3), texts) == together


def test_mode_prefix_lists_only_continuing_queries(policy: ListPolicy) -> None:
    for typed, found in zip(PREFIXES, lists(policy, PREFIXES, mode=PREFIXED), strict=True):
        assert all(QUERIES[query].startswith(typed) for query, _ in found)
    for found in lists(policy, ["lx", "steel la", "zzz"], mode=PREFIXED):
        assert found == []


@pytest.mark.parametrize("mode", MODES)
def test_the_typed_query_is_not_suggested(mode: str, policy: ListPolicy) -> None:
    for number, found in enumerate(lists(policy, QUERIES, mode=mode)):
        assert number not in [query for query, _ in found]


def test_nothing_is_saved_where_all_is_typed(policy: ListPolicy) -> None:
    texts = from_prefixes(["laptop steel", "laptop stee", "laptop"])
    intents = policy.retriever.intents(texts)
    members = policy.members(texts, intents, policy.typed(texts, intents).lengths)
    saved = [
        dict(zip(members.rows.values[at].tolist(), members.saved[at].tolist(), strict=True))
        for at in map(members.rows.span, range(3))
    ]
    steel, laptop = QUERIES.index("laptop steel"), QUERIES.index("laptop")
    assert saved[0][steel] == 0
    assert saved[1][steel] == pytest.approx((12 - len("laptop st")) / 12)
    assert laptop not in saved[2]  # those who intend it are done
    assert saved[2][steel] == pytest.approx((12 - len("laptop")) / 12)  # a query has a list of its own
    np.testing.assert_allclose(
        np.bincount(members.rows.owner, weights=members.probability), np.ones(3), rtol=1e-6
    )


@pytest.mark.parametrize("mode", MODES)
def test_texts_of_the_same_prefix_group_have_the_same_list(mode: str, policy: ListPolicy) -> None:
    groups = group_prefixes(QUERIES)
    found = lists(policy, groups.typed, mode=mode)
    examples = lists(policy, groups.example, mode=mode)
    assert found == [examples[group] for group in groups.group.tolist()]


def test_a_larger_keystroke_value_never_takes_more_keystrokes(policy: ListPolicy) -> None:
    queries = np.repeat(np.arange(len(QUERIES)), policy.retriever.popularity.astype(np.int64) // 10)
    keystrokes = Keystrokes.of([QUERIES[query] for query in queries.tolist()])
    typed = []
    for value in (0.0, 0.2, 0.8, 3.0, 10.0):
        candidates = replace(policy, keystroke_value=value).complete(from_prefixes(keystrokes.texts), SHOWN)
        shown = lists_shown(candidates, keystrokes.texts, policy)
        typed.append(expected_characters(policy, queries, keystrokes, shown)[0])
    assert typed[-1] < typed[0]
    for fewer, more in zip(typed[1:], typed, strict=False):
        assert fewer <= more * 1.01


def test_the_scores_of_one_person_are_those_of_the_takers(policy: ListPolicy) -> None:
    for typed in ("l", "lap", "laptop", "lamo", "steel la"):
        found = lists(policy, [typed])[0]
        takers = policy.takers(from_prefixes([typed]), np.array([query for query, _ in found], np.int32))
        for place, (_, score) in enumerate(found):
            value = takers.value(place).sum() + takers.careless_finds[place]
            assert value == pytest.approx(score, rel=1e-4, abs=1e-7)
        assert (takers.takes.sum(axis=1) <= 1 + 1e-9).all()


def test_slots_and_lists_agree_on_acceptance(policy: ListPolicy, slow: Slow) -> None:
    """The acceptance of typing sessions, of lists and of the formula is one."""
    queries = np.arange(len(QUERIES), dtype=np.int64)
    keystrokes = Keystrokes.of(QUERIES)
    shown = lists_shown(policy.complete(from_prefixes(keystrokes.texts), SHOWN), keystrokes.texts, policy)
    slots = Slots.of(keystrokes, shown)
    accepted = policy.accepted(queries, slots)
    for slot in range(0, len(accepted), 7):
        typed = keystrokes.texts[keystrokes.text[slots.keystroke[slot]]]
        expected = slow.acceptance(typed, int(slots.session[slot]), int(slots.suggested[slot]))
        assert accepted[slot] == pytest.approx(expected, rel=1e-4)


def test_a_misspelt_text_is_accepted_less(policy: ListPolicy) -> None:
    intents = policy.retriever.intents(from_prefixes(["lamo"]))
    assert SOURCES[intents.source[0]] == "typo"
    listed = np.array([QUERIES.index("lamp steel"), QUERIES.index("lock steel")], np.int32)
    takers = policy.takers(from_prefixes(["lamo"]), listed)
    at = takers.intended.tolist().index(QUERIES.index("lamp small"))
    slow = Slow.of(policy)
    pair = QUERIES.index("lamp small"), QUERIES.index("lamp steel")
    expected = np.mean([slow.acceptance("lamo", *pair, kind) for kind in (0, 1)])
    others = 1 - policy.acceptance.strict
    assert takers.takes[at, 0] == pytest.approx(others * expected * policy.acceptance.reading[0], rel=1e-4)
