"""From a log to the expected-utility policy in both modes: what the estimates hold, and that it is what is served."""

from collections.abc import Callable
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import reference
import shop as small
from shop import Shop
from wayword import Config, run
from wayword.completion.acceptance import PRIOR
from wayword.completion.candidates import Candidates
from wayword.completion.list_policy import ListPolicy
from wayword.config import COMPARED
from wayword.demand.artefact import DEMAND
from wayword.engines import tables
from wayword.errors import LogError, WaywordError
from wayword.evaluation.estimates import IPS
from wayword.logs.contexts import from_prefixes
from wayword.pipeline import load_policies
from wayword.report.estimates import differences_of, estimates_of
from wayword.request import ANY, MODES, PREFIXED
from wayword.serving.completer import Completer
from wayword.serving.policy_completer import PolicyCompleter
from wayword.store.compressed_rows import WeightedRows
from wayword.store.workspace import Workspace
from wayword.utility import CUTOFFS

SETTINGS = {
    "retriever": {"model": "popular", "candidates": 10},
    "ranker": {"rounds": 3, "depth": 2},
    "features": {"dimensions": 2},
    "evaluation": {"bootstrap": 20, "compare": list(COMPARED)},
}
POLICIES = ("random", "popular", "retriever", "unbiased", "expected", "wayword")


def values(workspace: Workspace, mode: str, metric: str = "utility") -> dict[tuple[str, int], float]:
    return {(r["policy"], r["k"]): r["value"] for r in estimates_of(workspace, metric, mode=mode)}


def plain(workspace: Workspace, mode: str) -> dict[tuple[str, int], float]:
    """Utility@k by the plain IPS estimator, without a control variate."""
    rows = tables.read(workspace.folder("estimates"), "estimators").to_pylist()
    chosen = [r for r in rows if (r["mode"], r["metric"], r["estimator"]) == (mode, "utility", IPS)]
    return {(r["policy"], r["k"]): r["value"] for r in chosen}


# --- what the estimates hold


@pytest.mark.parametrize("mode", MODES)
def test_every_policy_is_told_in_both_modes(shop: Shop, mode: str) -> None:
    found = values(shop.workspace, mode)
    assert {policy for policy, _ in found} == {"logged", "oracle", "ceiling", *POLICIES}
    assert found["logged", 1] == 1.0
    assert all((policy, k) in found for policy in (*POLICIES, "ceiling") for k in CUTOFFS)
    rows = differences_of(shop.workspace, mode=mode)
    assert ("expected", "popular") in {(row["policy"], row["other"]) for row in rows}


@pytest.mark.parametrize("mode", MODES)
def test_nothing_is_above_the_ceiling_of_its_mode_by_more_than_noise(shop: Shop, mode: str) -> None:
    rows = [r for r in differences_of(shop.workspace, mode=mode) if r["policy"] == "ceiling"]
    assert {r["other"] for r in rows} >= set(POLICIES)
    assert [(r["other"], r["k"]) for r in rows if r["other"] in POLICIES and r["high"] < 0] == []


def test_the_ceiling_of_mode_prefix_is_below_that_of_mode_any(shop: Shop) -> None:
    """At 1 by the law itself, so also on enough test searches; the shop's best queries start otherwise."""
    both = {mode: values(shop.workspace, mode) for mode in MODES}
    assert both[PREFIXED]["ceiling", 1] < 0.95 * both[ANY]["ceiling", 1]
    assert all(both[PREFIXED]["ceiling", k] < both[ANY]["ceiling", k] for k in CUTOFFS)


@pytest.mark.parametrize("mode", MODES)
def test_expected_is_nearer_to_the_ceiling_than_any_other(shop: Shop, mode: str) -> None:
    found = values(shop.workspace, mode)
    for policy in ("random", "popular", "retriever"):
        assert found["expected", 1] > found[policy, 1]
    assert found["expected", 1] > 0.9 * found["ceiling", 1]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("policy", POLICIES)
def test_an_estimate_is_that_of_the_reference_on_the_policys_lists(
    shop: Shop, policy: str, mode: str
) -> None:
    loaded = load_policies(shop.folders, small.CONFIG)
    searches, rankings = [s for s in shop.searches("test") if s.clicks], shop.rankings()
    typed = tables.read(shop.workspace.folder("contexts"), "contexts")
    answer = loaded[policy].complete(typed.select(["prefix"]), 10, mode=mode)
    lists: dict[int, list[int]] = {}
    for context, query in zip(answer.context.tolist(), answer.query.tolist(), strict=True):
        lists.setdefault(context, []).append(query)
    law = reference.power_law(small.CONFIG.propensity.alpha)

    def of(search: reference.Search, query: int) -> float:
        return reference.utility(search, query, rankings, law)

    found = plain(shop.workspace, mode)
    for k in CUTOFFS:
        assert found[policy, k] == pytest.approx(reference.utility_at(k, searches, lists, of), rel=1e-5)


def test_recall_is_told_for_each_source_and_all_together(shop: Shop) -> None:
    rows = tables.read(shop.workspace.folder("estimates"), "recall").to_pylist()
    found = {row["source"]: row["recall"] for row in rows}
    assert set(found) == {"popular", "retriever", "graph", "fuzzy", "together"}
    assert found["together"] >= max(found[s] for s in ("popular", "retriever", "graph"))
    assert found["graph"] > 0.9  # the whole universe is looked at
    assert found["fuzzy"] == 0.0  # every test prefix begins some query


def test_a_log_without_truth_has_no_ceiling_and_no_recall(shop: Shop, tmp_path: Path) -> None:
    workspace = run(
        shop.data / "clicks.parquet", shop.data / "rankings.parquet", out=tmp_path, config=small.CONFIG
    )
    assert "ceiling" not in {policy for policy, _ in values(workspace, ANY)}
    assert tables.read(workspace.folder("estimates"), "recall").num_rows == 0
    assert plain(workspace, PREFIXED)["expected", 1] == plain(shop.workspace, PREFIXED)["expected", 1]


def test_a_mode_that_does_not_exist_is_refused(shop: Shop) -> None:
    for ask in (estimates_of, differences_of):
        with pytest.raises(WaywordError, match="Found mode 'some'; expected one of any, prefix"):
            ask(shop.workspace, mode="some")


# --- what is served


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("policy", POLICIES)
def test_the_served_list_is_the_offline_policys_list(shop: Shop, policy: str, mode: str) -> None:
    texts = tables.read(shop.workspace.folder("rankings"), "queries")["shown"].to_pylist()
    typed = [
        *tables.read(shop.workspace.folder("contexts"), "contexts")["prefix"].to_pylist(),
        "lmap",
        "steel",
        "zzz",
    ]
    offline = load_policies(shop.folders, small.CONFIG, threads=2)[policy].complete(
        from_prefixes(typed), 10, mode=mode
    )
    expected: list[list[tuple[str, float, str]]] = [[] for _ in typed]
    rows = zip(*_columns(offline), strict=True)
    for context, query, score, source in rows:
        expected[context].append((texts[query], score, source))
    completer = PolicyCompleter.open(shop.workspace, load_policies)
    served = [completer.complete(text, 10, policy=policy, mode=mode) for text in typed]
    assert [[(c.query, c.score, c.source) for c in found] for found in served] == expected
    assert sum(map(len, expected)) > 100


def _columns(found: Candidates) -> tuple[list[int], list[int], list[float], list[str]]:
    return found.context.tolist(), found.query.tolist(), found.score.tolist(), list(found.sources())


def test_the_source_of_a_completion_says_how_the_text_was_understood(shop: Shop) -> None:
    completer = PolicyCompleter.open(shop.workspace, load_policies)
    for text, source in (("lam", "graph"), ("lmap", "typo"), ("steel", "words"), ("lamp stuffed", "similar")):
        assert {c.source for c in completer.complete(text)} == {source}
        onward = {c.source for c in completer.complete(text, mode="prefix")}
        assert onward == ({source} if source in ("graph", "typo") else set())
    assert {c.query for c in completer.complete("lmap", mode="prefix")} >= {
        "lamp",
        "lamp small",
        "lamp steel",
    }


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda c: c.complete("l", mode="exact"), "Found mode 'exact'; expected one of any, prefix"),
        (
            lambda c: c.complete("l", policy="diverse"),
            "Found policy 'diverse'; expected one of popular, expected, wayword",
        ),
    ],
)
def test_a_wrong_question_is_said_clearly(
    shop: Shop, ask: Callable[[PolicyCompleter], object], message: str
) -> None:
    with pytest.raises(WaywordError, match=message):
        ask(PolicyCompleter.open(shop.workspace, load_policies))


# --- small, odd and broken logs


def start(
    folder: Path, clicks: list[dict[str, Any]], rankings: list[dict[str, Any]], **options: Any
) -> Workspace:
    """A run on rows."""
    folder.mkdir(parents=True, exist_ok=True)
    for rows, name in ((clicks, "clicks"), (rankings, "rankings")):
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet")
    settings = {**SETTINGS, **options.pop("settings", {})}
    return run(
        folder / "clicks.parquet",
        folder / "rankings.parquet",
        out=folder / "workspace",
        config=Config.parse(settings),
        **options,
    )


def pages(queries: list[str], documents: int = 6, seed: int = 0) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    return [
        {"query": query, "document": f"d{a}", "rank": rank}
        for query in queries
        for rank, a in enumerate(rng.permutation(documents)[:4].tolist(), start=1)
    ]


def log_of(rankings: list[dict[str, Any]], n: int, seed: int = 1) -> list[dict[str, Any]]:
    """n searches with a click each, at the ranks of the rankings."""
    rng = np.random.default_rng(seed)
    chosen = [rankings[i] for i in rng.integers(0, len(rankings), n)]
    return [{"search_id": f"s{i}", **row} for i, row in enumerate(chosen)]


def finite(workspace: Workspace) -> None:
    """Both modes can be read, and answers given."""
    for mode in MODES:
        for value in values(workspace, mode).values():
            assert isnan(value) or value >= 0
    completer = PolicyCompleter.open(workspace, load_policies)
    for mode in MODES:
        for policy in POLICIES:
            for found in completer.complete_many(["", "l", "lamp", "xyz"], policy=policy, mode=mode):
                assert all(np.isfinite(c.score) for c in found)


@pytest.mark.parametrize("clicks", [1, 2, 3, 8, 30])
def test_very_few_clicks_run_through_or_the_log_is_called_too_short(tmp_path: Path, clicks: int) -> None:
    rankings = pages(["lamp", "lamp red", "lock"])
    log = log_of(rankings, clicks)
    if clicks < 8:  # none is left for the ranker
        with pytest.raises(LogError, match=r"nothing to learn from\. Give a longer log"):
            start(tmp_path, log, rankings)
        served = start(tmp_path / "served", log, rankings, settings={"evaluation": {"bootstrap": 20}})
        assert Completer.open(served).complete("l")
    else:
        finite(start(tmp_path, log, rankings))


def test_a_single_query_completes_itself(tmp_path: Path) -> None:
    rankings = pages(["lamp"])
    workspace = start(tmp_path, log_of(rankings, 40), rankings)
    finite(workspace)
    completer = PolicyCompleter.open(workspace, load_policies)
    lists = load_policies(
        {stage: workspace.folder(stage) for stage in workspace.manifest["stages"]}, workspace.config
    )["wayword"]
    assert isinstance(lists, ListPolicy)
    saved = lists.keystroke_value * 3 / 4  # all who typed "l" intend it
    for mode in MODES:
        (found,) = completer.complete("la", mode=mode, policy="expected")
        assert found.query == "lamp"
        assert found.score == pytest.approx(1.0, rel=1e-4)
        (found,) = completer.complete("la", mode=mode, policy="wayword")
        assert found.query == "lamp"
        people = (1 - PRIOR.careless) * saved + PRIOR.careless  # "la" shares the list of "l"
        assert found.score == pytest.approx(PRIOR.reading[0] * people, rel=1e-4)


def test_a_word_that_is_a_query_gets_the_queries_that_have_it_inside(tmp_path: Path) -> None:
    """ "player" begins one other query and is inside another; "video" is no word of "player stand"."""
    rankings = pages(["player", "player stand", "video player"])
    workspace = start(tmp_path, log_of(rankings, 150), rankings)
    completer = PolicyCompleter.open(workspace, load_policies)
    assert {c.query for c in completer.complete("player")} == {"player stand", "video player"}
    assert [c.query for c in completer.complete("playe", policy="popular", k=1)] == ["player"]
    assert [c.query for c in completer.complete("player", mode="prefix")] == ["player stand"]
    assert "video player" not in {c.query for c in completer.complete("player s")}


def test_a_part_of_the_training_log_without_a_click_is_no_trouble(tmp_path: Path) -> None:
    """Nothing can be held out, so nothing is chosen by it; the searches of the retriever's part had no click."""
    rankings = pages(["lamp", "lamp red", "lock"])
    workspace = start(tmp_path / "first", log_of(rankings, 60), rankings)
    split = {
        row["search_id"]: row["split"]
        for row in tables.read(workspace.folder("rankings"), "numbered_searches").to_pylist()
    }
    clicks = log_of(rankings, 60)
    for row in clicks:
        if split[row["search_id"]] == "retriever":
            row["document"] = row["rank"] = None
    other = start(tmp_path / "second", clicks, rankings)
    finite(other)
    assert "shrinkage" in workspace.report("demand")
    assert "shrinkage" not in other.report("demand")


def test_searches_without_any_click_run_through_or_are_refused_clearly(tmp_path: Path) -> None:
    rankings = pages(["lamp", "lock"])
    rows = [{"search_id": f"s{i}", "query": "lamp", "document": None, "rank": None} for i in range(20)]
    schema = pa.schema(
        [("search_id", pa.string()), ("query", pa.string()), ("document", pa.string()), ("rank", pa.int32())]
    )
    tmp_path.mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema), tmp_path / "clicks.parquet")
    pq.write_table(pa.Table.from_pylist(rankings), tmp_path / "rankings.parquet")
    with pytest.raises(WaywordError, match="click"):
        run(
            tmp_path / "clicks.parquet",
            tmp_path / "rankings.parquet",
            out=tmp_path / "workspace",
            config=Config.parse(SETTINGS),
        )


def test_clicks_that_the_rankings_do_not_contain_and_ranks_that_drifted(tmp_path: Path) -> None:
    """A document clicked far below its rank of today was hardly looked at; one that is gone is wanted all the same."""
    rankings = pages(["lamp", "lamp red", "lock"])
    clicks = log_of(rankings, 120)
    for i, row in enumerate(clicks):
        if i % 3 == 0:
            row["rank"] = row["rank"] + 5
        if i % 10 == 0:
            row["document"] = "gone"
    extra = {"query": "lock", "document": "gone", "rank": 9}
    workspace = start(
        tmp_path,
        clicks,
        [*rankings, extra],
        lenient=True,
        force=True,
        settings={"rankings": {"on_mismatch": "logged"}},
    )
    finite(workspace)
    told = workspace.report("rankings")
    assert told["mismatched clicks"] > 20
    assert told["clicks explained by the rankings"] > 80
    folder = workspace.folder("demand")
    queries = [row["text"] for row in tables.read(workspace.folder("rankings"), "queries").to_pylist()]
    gone = tables.read(workspace.folder("rankings"), "documents")["document_id"].to_pylist().index("gone")
    demand = WeightedRows.load(folder, DEMAND)
    wanting = [q for at, q in enumerate(queries) if gone in demand.values[demand.span(at)]]
    assert "lock" in wanting


def test_weights_count_and_a_weight_of_zero_is_no_click(tmp_path: Path) -> None:
    rankings = pages(["lamp", "lamp red", "lock"])
    clicks = [{**row, "weight": float(i % 4)} for i, row in enumerate(log_of(rankings, 200))]
    workspace = start(tmp_path / "weighed", clicks, rankings)
    finite(workspace)
    demand = WeightedRows.load(workspace.folder("demand"), DEMAND)
    heavier = [{**row, "weight": 10 * row["weight"]} for row in clicks]
    other = start(tmp_path / "heavier", heavier, rankings).folder("demand")
    more = WeightedRows.load(other, DEMAND)
    assert more.weights == pytest.approx(demand.weights, rel=1e-4)  # a unit says nothing
    favoured = [{**row, "weight": row["weight"] * (5 if row["query"] == "lock" else 1)} for row in clicks]
    other = start(tmp_path / "favoured", favoured, rankings).folder("demand")
    before, after = (
        [rows.weights[rows.span(at)].sum() for at in range(len(rows))]
        for rows in (demand, WeightedRows.load(other, DEMAND))
    )
    queries = [row["text"] for row in tables.read(workspace.folder("rankings"), "queries").to_pylist()]
    lock = queries.index("lock")
    assert after[lock] / sum(after) > 1.5 * before[lock] / sum(before)
    nothing = [{**row, "weight": 0.0} for row in clicks[:50]]
    zero = [*[{**row, "search_id": row["search_id"] + "z"} for row in nothing], *clicks]
    with_zeros = start(tmp_path / "zeros", zero, rankings)
    finite(with_zeros)
    assert with_zeros.report("demand")["pairs"] == workspace.report("demand")["pairs"]


def test_japanese_without_spaces(tmp_path: Path) -> None:
    queries = ["東京タワー", "東京駅", "東京駅弁当", "京都駅", "赤い靴"]
    rankings = pages(queries)
    workspace = start(tmp_path, log_of(rankings, 150), rankings)
    completer = PolicyCompleter.open(workspace, load_policies)
    onward = {c.query for c in completer.complete("東京", mode="prefix")}
    assert onward == {"東京タワー", "東京駅", "東京駅弁当"}
    assert {c.query for c in completer.complete("東京駅", mode="prefix")} == {"東京駅弁当"}
    anything = {c.query for c in completer.complete("東京")}
    assert onward <= anything <= {*onward, "京都駅"}  # a station, too; red shoes have nothing of it
    assert {c.query for c in completer.complete("東京", policy="expected")} == set(queries)
    assert values(workspace, PREFIXED)["expected", 1] > 0


def test_recorded_prefixes_run_through_and_are_served(tmp_path: Path) -> None:
    """People type "wm" for washing machines, which are searched most."""
    rankings = pages(["washing machine", "wire", "wmx"])
    clicks = [
        {**row, "prefix": "wm" if row["query"] == "washing machine" else row["query"][:1]}
        for row in log_of([*rankings, *pages(["washing machine"])], 200)
    ]
    workspace = start(tmp_path, clicks, rankings)
    finite(workspace)
    completer = PolicyCompleter.open(workspace, load_policies)
    assert "washing machine" in {c.query for c in completer.complete("wm")}
    for policy in ("expected", "wayword"):
        shown = [c.query for c in completer.complete("wm", mode="prefix", policy=policy)]
        assert shown == ["wmx"]
    assert completer.complete("wm", policy="wayword")[0].query == "washing machine"


@pytest.mark.parametrize("measure", ["dcg", "mrr"])
def test_judgments_run_through_in_both_modes(tmp_path: Path, measure: str) -> None:
    """What is judged is the demand, so "lamp", which shows the one good document first, is the best of all."""
    rankings = [
        {"query": query, "document": f"d{(a + shift) % 4}", "rank": a + 1}
        for query, shift in (("lamp", 0), ("lamp red", 1), ("lantern", 2))
        for a in range(4)
    ]
    queries = ["lamp", "lamp red", "lantern"]
    judged = [
        {
            "prefix": "la",
            "query": queries[i % 3],
            "document": f"d{a}",
            "grade": 3 if a == 0 else 0,
            "search_id": f"s{i}",
        }
        for i in range(60)
        for a in range(4)
    ]
    workspace = start(tmp_path, judged, rankings, judged=True, settings={"utility": {"judgments": measure}})
    finite(workspace)
    for mode in MODES:
        found = PolicyCompleter.open(workspace, load_policies).complete("la", mode=mode)
        assert found[0].query == "lamp"
        assert values(workspace, mode)["expected", 1] >= 1.0
