"""The contract of every policy, tested once and run on each."""

import dataclasses
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from msgspec.structs import replace

import shop as small
from shop import Shop
from wayword import run
from wayword.completion.candidates import Candidates
from wayword.completion.list_policy import ListPolicy
from wayword.completion.policies import (
    POOL,
    Expected,
    Policy,
    PrefixFiltered,
    RetrieverPolicy,
    UnfilteredPolicy,
)
from wayword.completion.popular import PopularRetriever
from wayword.logs.contexts import from_prefixes
from wayword.paper import pecos_model
from wayword.paper.policies import Ranked, Shuffled
from wayword.paper.rankers import RANKERS, Examples
from wayword.pipeline import load_policies
from wayword.request import MODES

MEMBERS = (
    *("random", "popular", "retriever", "unbiased", "expected", "wayword"),
    *("linear", "pecos", "unbiased over pecos"),
)
PREFIXES = ["l", "la", "lamp s", "lo", "", "label", "x", "la", "ladder small"]


@pytest.fixture(scope="module")
def policies(shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> dict[str, UnfilteredPolicy]:
    loaded = {name: _plain(policy) for name, policy in load_policies(shop.folders, small.CONFIG).items()}
    boosted = loaded["unbiased"]
    assert isinstance(boosted, Ranked)
    of_tree = _over_pecos(shop, tmp_path_factory.mktemp("pecos")) if pecos_model.available() else {}
    return {**loaded, "linear": _linear(boosted), **of_tree}


def _plain(policy: Policy) -> UnfilteredPolicy:
    """The policy as it is in mode `any`; `PrefixFiltered` has its own tests."""
    return policy.policy if isinstance(policy, PrefixFiltered) else policy


def _over_pecos(shop: Shop, folder: Path) -> dict[str, UnfilteredPolicy]:
    """The policies of the paper: the PECOS tree's own order, and the ranker's."""
    config = replace(small.CONFIG, retriever=replace(small.CONFIG.retriever, model="pecos"))
    workspace = run(shop.data / "clicks.parquet", shop.data / "rankings.parquet", out=folder, config=config)
    at = {stage: workspace.folder(stage) for stage in workspace.manifest["stages"]}
    loaded = load_policies(at, config)
    return {"pecos": _plain(loaded["retriever"]), "unbiased over pecos": _plain(loaded["unbiased"])}


def _linear(boosted: Ranked) -> Ranked:
    """The same policy with a ranker that learned to prefer odd query numbers."""
    contexts = from_prefixes(["l", "la"])
    candidates = boosted.retriever.retrieve(contexts, boosted.candidates)
    features = boosted.featuriser.features(contexts, candidates)
    examples = Examples.of(features, candidates.query % 2, candidates.context, np.ones(2))
    ranker = RANKERS["linear"].fit(examples, small.CONFIG.ranker)
    return Ranked(boosted.retriever, boosted.featuriser, ranker, boosted.candidates)


def rows(candidates: Candidates) -> list[tuple[int, int, float]]:
    return list(
        zip(candidates.context.tolist(), candidates.query.tolist(), candidates.score.tolist(), strict=True)
    )


def test_every_policy_of_an_evaluation_is_a_member(policies: dict[str, UnfilteredPolicy]) -> None:
    assert set(policies) <= set(MEMBERS)


@pytest.fixture(params=MEMBERS)
def name(request: pytest.FixtureRequest, policies: dict[str, UnfilteredPolicy]) -> str:
    if request.param not in policies:
        pytest.skip("PECOS is not installed")
    return str(request.param)


class TestEveryPolicy:
    @pytest.mark.parametrize("k", [1, 3, 10])
    def test_at_most_k_best_first_and_no_query_twice(
        self, policies: dict[str, UnfilteredPolicy], name: str, k: int
    ) -> None:
        candidates = policies[name].complete(from_prefixes(PREFIXES), k)
        assert candidates.context.tolist() == sorted(candidates.context.tolist())
        for context in range(len(PREFIXES)):
            of_context = candidates.context == context
            assert of_context.sum() <= k
            assert len(set(candidates.query[of_context].tolist())) == of_context.sum()
            if name == "wayword":  # a list is chosen as a whole: its score is a share of the list's value
                assert (candidates.score[of_context] > 0).all()
            else:
                assert (np.diff(candidates.score[of_context]) <= 0).all()
        unknown = set() if "pecos" in name else {PREFIXES.index("x")}  # the tree is not prefix-exact
        assert set(candidates.context.tolist()) == set(range(len(PREFIXES))) - unknown

    def test_the_same_again_alone_or_among_others(
        self, policies: dict[str, UnfilteredPolicy], name: str
    ) -> None:
        policy = policies[name]
        together = rows(policy.complete(from_prefixes(PREFIXES), 5))
        assert rows(policy.complete(from_prefixes(PREFIXES), 5)) == together
        for place, prefix in enumerate(PREFIXES):
            alone = policy.complete(from_prefixes([prefix]), 5)
            assert [(place, q, s) for _, q, s in rows(alone)] == [r for r in together if r[0] == place]

    def test_a_shorter_list_is_the_beginning_of_a_longer_one(
        self, policies: dict[str, UnfilteredPolicy], name: str
    ) -> None:
        short, long, longest = (policies[name].complete(from_prefixes(PREFIXES), k) for k in (2, 7, 60))
        assert rows(long.top(2)) == rows(short)
        assert rows(longest.top(7)) == rows(long)

    def test_no_context_no_candidate(self, policies: dict[str, UnfilteredPolicy], name: str) -> None:
        candidates = policies[name].complete(from_prefixes([]), 5)
        assert (len(candidates.context), len(candidates.query), len(candidates.score)) == (0, 0, 0)

    def test_a_policy_reorders_its_retriever_and_adds_nothing(
        self, policies: dict[str, UnfilteredPolicy], name: str
    ) -> None:
        policy = policies[name]
        if isinstance(policy, ListPolicy):
            pytest.skip("it chooses from a pool: see the next test")
        assert isinstance(policy, Ranked | RetrieverPolicy | Shuffled | Expected)
        wide = POOL if isinstance(policy, Expected) else small.CONFIG.retriever.candidates
        proposed = policy.retriever.retrieve(from_prefixes(PREFIXES), wide)
        listed = policy.complete(from_prefixes(PREFIXES), wide)
        pairs, of_retriever = ({(c, q) for c, q, _ in rows(lists)} for lists in (listed, proposed))
        assert pairs == of_retriever


def test_lists_are_chosen_from_the_pool_and_each_suggestion_once(
    policies: dict[str, UnfilteredPolicy],
) -> None:
    policy = policies["wayword"]
    assert isinstance(policy, ListPolicy)
    contexts = from_prefixes(PREFIXES)
    for mode in MODES:
        pool = policy.pool(contexts, policy.retriever.intents(contexts), POOL, mode)
        listed = policy.complete(contexts, POOL, mode=mode)
        possible = set(zip(pool.owner.tolist(), pool.values.tolist(), strict=True))
        pairs = set(zip(listed.context.tolist(), listed.query.tolist(), strict=True))
        assert pairs <= possible
        assert pairs
        hardly_saves = dataclasses.replace(policy, keystroke_value=0.0).complete(contexts, POOL, mode=mode)
        assert 0 < len(hardly_saves.query) < len(possible)  # a list may be short
        groups = [
            (context, int(policy.queries.group[query]))
            for context, query in zip(listed.context.tolist(), listed.query.tolist(), strict=True)
        ]
        assert len(set(groups)) == len(groups)


def test_blocks_of_contexts_give_the_same(
    policies: dict[str, UnfilteredPolicy], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = rows(policies["unbiased"].complete(from_prefixes(PREFIXES), 5))
    monkeypatch.setattr("wayword.paper.policies.CONTEXTS_AT_ONCE", 2)
    assert rows(policies["unbiased"].complete(from_prefixes(PREFIXES), 5)) == whole


def test_random_is_uniform_and_follows_seed_prefix_and_extra_columns() -> None:
    texts = [f"q{i}" for i in range(5)]
    retriever = PopularRetriever(texts, np.arange(1.0, 6.0))
    n = 2000
    contexts = pa.table({"prefix": ["q"] * n, "place": list(range(n))})
    for seed in (0, 1):
        candidates = Shuffled(retriever, 5, seed).complete(contexts, 5)
        for place in range(5):
            counts = Counter(candidates.query[candidates.position() == place].tolist())
            chi2 = sum((counts[query] - n / 5) ** 2 / (n / 5) for query in range(5))
            assert chi2 < 18.5  # 99.9 % of a chi-squared law with 4 degrees of freedom
    one, other = (Shuffled(retriever, 5, seed).complete(contexts, 5).query for seed in (0, 1))
    assert 0.1 < np.mean(one == other) < 0.3  # as often as chance has it, 1/5
