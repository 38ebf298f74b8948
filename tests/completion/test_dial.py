"""The weight between utility and acceptance, and lists filtered by prefix."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shop import CONFIG, Shop
from wayword.completion.blending import mix_acceptance
from wayword.completion.candidates import Candidates
from wayword.completion.policies import Expected, PrefixFiltered, filter_by_prefix
from wayword.errors import WaywordError
from wayword.evaluation.stage import DIAL
from wayword.logs.contexts import from_prefixes
from wayword.pipeline import load_policies
from wayword.request import ANY, MODES, PREFIXED

PREFIXES = ["l", "la", "lamp s", "lo", "", "label", "x", "la", "ladder small", "lnatern"]
Scores = dict[int, float]
scores = st.dictionaries(st.integers(0, 6), st.sampled_from([0.125, 0.25, 0.5, 1.0, 2.0]), max_size=5)


def of(contexts: list[Scores], source: str = "graph") -> Candidates:
    rows = [(x, q, s) for x, scores in enumerate(contexts) for q, s in scores.items()]
    return Candidates.sorted(
        np.array([x for x, _, _ in rows], np.int32),
        np.array([q for _, q, _ in rows], np.int32),
        np.array([s for _, _, s in rows], np.float32),
    ).of(source)


def rows(candidates: Candidates) -> list[tuple[int, int, float]]:
    return list(
        zip(candidates.context.tolist(), candidates.query.tolist(), candidates.score.tolist(), strict=True)
    )


@settings(max_examples=100, deadline=None)
@given(
    useful=st.lists(scores, min_size=2, max_size=2),
    probable=st.lists(scores, min_size=2, max_size=2),
    acceptance=st.sampled_from([0.0, 0.25, 0.5, 1.0]),
    data=st.data(),
)
def test_the_score_is_the_mean_of_both_as_shares_of_the_best(
    useful: list[Scores], probable: list[Scores], acceptance: float, data: st.DataObject
) -> None:
    """`also` has the utilities of probable queries that were too low to be among the best."""
    also = [
        {q: data.draw(st.sampled_from([0.0625, 0.125])) for q in chances if q not in utilities}
        for utilities, chances in zip(useful, probable, strict=True)
    ]
    mixed = mix_acceptance(of(useful), of(also), of(probable), acceptance)
    ranked = rows(mixed)
    for x in range(2):
        utility = {**also[x], **useful[x]}
        best = [max(values.values(), default=0.0) or 1.0 for values in (utility, probable[x])]
        value = {
            q: (1 - acceptance) * utility.get(q, 0.0) / best[0]
            + acceptance * probable[x].get(q, 0.0) / best[1]
            for q in {*utility, *probable[x]}
        }
        in_order = sorted(value, key=lambda q: (-np.float32(value[q]), q))
        assert [q for context, q, _ in ranked if context == x] == in_order
        scores_of_context = [score for context, _, score in ranked if context == x]
        assert scores_of_context == pytest.approx([value[q] for q in in_order], rel=1e-6)


def test_zero_is_the_order_of_utility_and_one_that_of_probability() -> None:
    useful, also, probable = of([{7: 2.0, 4: 1.0}]), of([{9: 0.5}]), of([{9: 0.6, 4: 0.3}])
    assert mix_acceptance(useful, also, probable, 0.0).query.tolist() == [7, 4, 9]
    assert mix_acceptance(useful, also, probable, 1.0).query.tolist() == [9, 4, 7]


@pytest.mark.parametrize("acceptance", [-0.1, 1.1, float("nan")])
def test_a_dial_beyond_its_ends_is_refused(acceptance: float) -> None:
    nothing = of([])
    with pytest.raises(WaywordError, match=r"Found acceptance = .*; expected a number between 0 and 1"):
        mix_acceptance(nothing, nothing, nothing, acceptance)


def test_nothing_to_dial_is_nothing() -> None:
    nothing = of([])
    assert rows(mix_acceptance(nothing, nothing, nothing, 0.5)) == []


# --- the policy


@pytest.fixture(scope="module")
def expected(shop: Shop) -> Expected:
    policy = load_policies(shop.folders, CONFIG)["expected"]
    assert isinstance(policy, Expected)
    return policy


@pytest.mark.parametrize("mode", MODES)
def test_a_dial_hardly_turned_keeps_the_order_of_utility(expected: Expected, mode: str) -> None:
    plain = expected.complete(from_prefixes(PREFIXES), 10, mode=mode)
    turned = Expected(expected.retriever, acceptance=1e-9).complete(from_prefixes(PREFIXES), 10, mode=mode)
    assert [r[:2] for r in rows(turned)] == [r[:2] for r in rows(plain)]
    assert len(plain.query) > 20


@pytest.mark.parametrize("mode", MODES)
def test_a_dial_turned_to_the_end_begins_with_the_most_probable(expected: Expected, mode: str) -> None:
    contexts = from_prefixes(PREFIXES)
    probable = expected.retriever.most_probable(expected.retriever.intents(contexts), 10)
    turned = Expected(expected.retriever, acceptance=1.0).complete(contexts, 10, mode=mode)
    for x in range(len(PREFIXES)):
        wanted = probable.query[probable.context == x].tolist()
        assert turned.query[turned.context == x].tolist()[: len(wanted)] == wanted
    assert len(probable.query) > 20


@pytest.mark.parametrize("mode", MODES)
def test_between_the_ends_the_score_is_that_of_both_lists(expected: Expected, mode: str) -> None:
    """Over all queries of the shop, which are fewer than `POOL`."""
    contexts, everything = from_prefixes(PREFIXES), 50
    intents = expected.retriever.intents(contexts)
    useful = expected.complete(contexts, everything, mode=mode)
    chance = expected.retriever.most_probable(intents, everything)
    turned = Expected(expected.retriever, acceptance=0.25).complete(contexts, everything, mode=mode)
    for x in range(len(PREFIXES)):
        u, c = (
            dict(zip(f.query[f.context == x].tolist(), f.score[f.context == x].tolist(), strict=True))
            for f in (useful, chance)
        )
        mixed = [r for r in rows(turned) if r[0] == x]
        assert {q for _, q, _ in mixed} == set(u) | set(c)
        for _, q, score in mixed:
            value = 0.75 * u.get(q, 0.0) / max(u.values()) + 0.25 * c.get(q, 0.0) / max(c.values())
            assert score == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("acceptance", DIAL)
@pytest.mark.parametrize("diverse", [False, True])
def test_in_mode_prefix_every_query_goes_on_from_the_text(
    shop: Shop, expected: Expected, acceptance: float, diverse: bool
) -> None:
    policy = load_policies(shop.folders, CONFIG)["diverse"]
    assert isinstance(policy, Expected)
    dialled_policy = Expected(
        expected.retriever,
        acceptance=acceptance,
        diverse=diverse,
        exposures=policy.exposures,
        same=policy.same,
    )
    contexts = from_prefixes(PREFIXES[:-1])
    candidates = dialled_policy.complete(contexts, 10, mode=PREFIXED)
    texts = expected.retriever.texts
    assert len(candidates.query) > 20
    assert all(texts[q].startswith(PREFIXES[x]) for x, q, _ in rows(candidates))
    assert (np.bincount(candidates.context, minlength=len(PREFIXES) - 1)[[0, 1, 2, 3, 4, 5]] > 0).all()


def test_a_longer_list_begins_with_the_shorter_whatever_the_dial(expected: Expected) -> None:
    for acceptance in DIAL:
        policy = Expected(expected.retriever, acceptance=acceptance)
        short, long = (policy.complete(from_prefixes(PREFIXES), k) for k in (3, 9))
        assert rows(long.top(3)) == rows(short)


# --- other policies in mode prefix


@dataclass(frozen=True)
class Fixed:
    """The same queries for every context."""

    listed: tuple[int, ...]

    def complete(self, contexts: pa.Table, k: int) -> Candidates:
        kept = self.listed[:k]
        return of([{q: 1.0 / (1 + place) for place, q in enumerate(kept)} for _ in range(contexts.num_rows)])


def test_those_of_the_candidates_that_go_on_from_the_text_in_their_order() -> None:
    texts = ["bag", "bag red", "boot", "shoe"]
    policy = PrefixFiltered(Fixed((3, 2, 1, 0)), texts, candidates=4)
    contexts = from_prefixes(["b", "bag", "x", ""])
    assert policy.complete(contexts, 2, mode=ANY).query.tolist() == [3, 2] * 4
    candidates = policy.complete(contexts, 2, mode=PREFIXED)
    assert [r[:2] for r in rows(candidates)] == [(0, 2), (0, 1), (1, 1), (3, 3), (3, 2)]
    assert candidates.sources() == ["graph"] * 5
    narrow = PrefixFiltered(Fixed((3, 2, 1, 0)), texts, candidates=1)
    assert narrow.complete(contexts, 2, mode=PREFIXED).query.tolist() == [2, 3, 2]
    assert len(filter_by_prefix(of([]), from_prefixes([]), texts).query) == 0
