"""Queries of few users teach what is wanted behind their beginnings, and cannot be recovered from the index."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from wayword.completion import stage as completion
from wayword.completion.popular import popularity
from wayword.completion.typing_outcomes import Slots
from wayword.config import Config, IndexConfig
from wayword.engines import tables
from wayword.index import anonymous_demand, versions
from wayword.index import build as index_build
from wayword.index.anonymous_demand import DROPPED, Beginnings, choose, shares, users_of
from wayword.index.build import build
from wayword.index.overrides import Overrides
from wayword.pipeline import run
from wayword.request import MODES
from wayword.serving.completer import Completer
from wayword.store.compressed_rows import CompressedRows, WeightedRows
from wayword.store.workspace import Workspace

PUBLIC = {"lamp": 60, "lamp blue": 40, "lamp gold": 40, "ladder": 60, "lock": 60}
"""Queries and their searches, by twenty users each."""
COMMON = "gold 1"
"""The document that people want who search for rare lamps: the first result of "lamp gold"."""
RARE = [f"lamp {chr(97 + n // 20)}{chr(97 + n % 20)}qx of user{n:02d}" for n in range(40)]
SECRET = "lamp gift for zbigniew"  # noqa: S105
"""A query of one person, who clicks a document that nobody else clicks."""


def _rows(rare: dict[str, str], alone: bool) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Clicks and rankings; `rare` maps queries to their user. All of them lead to `COMMON`."""
    rankings = [
        {"query": query, "document": f"{query.split()[-1]} {rank}", "rank": rank}
        for query in PUBLIC
        for rank in range(1, 5)
    ]
    for query in rare:
        own = [COMMON, "lamp 1", "lamp 2"] if query != SECRET else ["secret 1", "lamp 1", "lamp 2"]
        rankings += [{"query": query, "document": own[rank - 1], "rank": rank} for rank in (1, 2, 3)]
    clicks = [
        {
            "query": query,
            "user": f"u{n % 20}",
            "document": f"{query.split()[-1]} {1 + n % 4}",
            "rank": 1 + n % 4,
        }
        for query, searches in PUBLIC.items()
        for n in range(searches)
    ]
    for query, user in rare.items():
        document = COMMON if query != SECRET else "secret 1"
        clicks += [{"query": query, "user": "ann" if alone else user, "document": document, "rank": 1}] * 4
    return [{"search_id": n, **row} for n, row in enumerate(clicks)], rankings


def _workspace(folder: Path, rare: dict[str, str], *, alone: bool = False) -> Workspace:
    folder.mkdir()
    for rows, name in zip(_rows(rare, alone), ("clicks", "rankings"), strict=True):
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet")
    config = Config.parse({"evaluation": {"bootstrap": 10, "sessions": 10}, "index": {"min_users": 3}})
    return run(folder / "clicks.parquet", folder / "rankings.parquet", out=folder / "w", config=config)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Forty rare lamps, each of one user, and a secret."""
    rare = {query: f"one{n}" for n, query in enumerate([*RARE, SECRET])}
    return _workspace(tmp_path_factory.mktemp("rare") / "shop", rare)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The same shop, where one person made all rare searches: they are no evidence of what others want."""
    rare = dict.fromkeys([*RARE, SECRET], "")
    return _workspace(tmp_path_factory.mktemp("plain") / "shop", rare, alone=True)


def _live(workspace: Workspace, text: str, mode: str = "any") -> list[str]:
    return [found.query for found in Completer.open(workspace).complete(text, mode=mode)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("typed", ["lmap", "lampp", "lanp"])
def test_rare_queries_of_many_people_make_the_query_first_that_shows_what_they_want(
    typed: str, mode: str, shop: Workspace, plain: Workspace
) -> None:
    assert _live(shop, typed, mode)[0] == "lamp gold"
    assert _live(plain, typed, mode)[0] == "lamp"


def _held(workspace: Workspace) -> dict[str, bytes]:
    """The content of every file of the index but the receipt, which has checksums."""
    folder = versions.current(workspace.path / "index")
    files = (file for file in sorted(folder.rglob("*")) if file.is_file() and file.name != "artefact.json")
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def test_no_file_has_a_word_of_a_rare_query(shop: Workspace) -> None:
    public = {word for query in PUBLIC for word in query.split()}
    words = {word for query in [*RARE, SECRET] for word in query.split() if len(word) > 3} - public
    assert len(words) == 2 * len(RARE) + 2
    for text in [*RARE, SECRET, *words]:
        forms = (text.encode(), np.array([*map(ord, text)], np.int32).tobytes())
        assert [name for name, held in _held(shop).items() if any(form in held for form in forms)] == []


def test_no_number_of_a_rare_query_is_stored(shop: Workspace) -> None:
    texts = tables.read(shop.folder("rankings"), "queries")["text"].to_pylist()
    rare = np.array([text not in PUBLIC for text in texts])
    retriever = Completer.open(shop).index.retriever
    for name, blank in (("popularity", 0), ("own_utility", 0), ("prefix_probability", 1)):
        assert set(getattr(retriever, name)[rare].tolist()) == {blank}
    assert retriever.graph.demand.lengths[rare].sum() == 0
    assert not rare[retriever.graph.exposure.values].any()


def test_what_few_users_clicked_is_not_in_demand(shop: Workspace) -> None:
    documents = tables.read(shop.folder("rankings"), "documents")["document_id"].to_pylist()
    demand = Completer.open(shop).index.retriever.graph.demand
    assert "secret 1" in documents
    assert "secret 1" not in {documents[number] for number in demand.values}
    everybody = completion.load({stage: shop.folder(stage) for stage in ("rankings", "demand", "completion")})
    both, before = demand.matrix(len(documents)), everybody.graph.demand.matrix(len(documents))
    for number in np.flatnonzero(demand.lengths):  # the proportions are those of the query itself
        assert both[[number]].toarray() / both[[number]].sum() == pytest.approx(
            before[[number]].toarray() / before[[number]].sum()
        )


def test_searches_count_for_the_query_that_people_would_take_if_there_are_enough_people(
    shop: Workspace, plain: Workspace
) -> None:
    """Those of one person do not, however many there are; the popularity that is told is that of the query itself."""
    texts = tables.read(shop.folder("rankings"), "queries")["text"].to_pylist()
    searches = popularity(shop.folder("rankings"), "retriever", "ranker")
    index = Completer.open(shop).index
    assert {text: index.popularity[texts.index(text)] for text in PUBLIC} == {
        text: searches[texts.index(text)] for text in PUBLIC
    }
    counted = index.retriever.popularity - index.popularity
    assert {texts[number] for number in np.flatnonzero(counted)} == {"lamp gold"}
    assert 0 < counted.sum() < sum(searches[texts.index(text)] for text in RARE)
    index = Completer.open(plain).index
    assert np.array_equal(index.retriever.popularity, index.popularity)


def test_stored_lists_are_the_same_and_without_min_users_everything(
    shop: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_demand = _held(shop)
    build(shop, IndexConfig(min_users=1))
    shared = _held(shop)
    assert "live/searches.npy" in with_demand
    assert "live/searches.npy" not in shared
    demand = versions.current(shop.path / "index") / "live" / "demand.weights.npy"
    assert demand.samefile(shop.folder("demand") / "demand.weights.npy")
    monkeypatch.setattr(index_build, "_with_rare_searches", lambda public, *_: public)
    build(shop, IndexConfig(min_users=3, withhold="phone card email"))  # the same settings, another version
    without = _held(shop)
    changed = {name for name in with_demand if with_demand[name] != without.get(name)}
    assert {"live/searches.npy", "live/own_utility.npy", "live/demand.weights.npy"} <= changed
    assert {name for name in changed if not name.startswith("live/")} == set()
    monkeypatch.undo()
    build(shop, IndexConfig(min_users=3))
    assert _held(shop) == with_demand


def test_deleted_queries_and_personal_data_count_for_nothing(shop: Workspace) -> None:
    root = shop.path / "index"
    Overrides.parse({"delete": RARE}).save(root)
    build(shop, IndexConfig(min_users=3))
    index = Completer.open(shop).index
    assert np.array_equal(index.retriever.popularity, index.popularity)
    assert _live(shop, "lmap")[0] == "lamp"
    Overrides().save(root)
    build(shop, IndexConfig(min_users=3))
    assert _live(shop, "lmap")[0] == "lamp gold"


@pytest.mark.parametrize("seed", range(20))
def test_enough_users_are_behind_every_query_that_is_chosen(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rare, least = np.sort(rng.choice(60, 40, replace=False)), int(rng.integers(2, 6))
    choices = [rng.choice(9, rng.integers(0, 5), replace=False) for _ in rare]
    share = [np.sort(rng.random(len(of)))[::-1] for of in choices]
    lengths = np.array([len(of) for of in choices])
    compared = WeightedRows.from_lengths(
        np.concatenate(choices).astype(np.int32), lengths, np.concatenate(share).astype(np.float32)
    )
    users = CompressedRows.from_lengths(rng.integers(0, 15, 120), np.full(60, 2)).distinct()
    target, chosen = choose(compared, users, rare, least)
    behind: dict[int, set[int]] = {}
    for number, of in zip(rare, target.tolist(), strict=True):
        behind.setdefault(of, set()).update(users.values[users.span(number)].tolist())
    assert min(len(who) for of, who in behind.items() if of != DROPPED) >= least
    for place, of in enumerate(target.tolist()):
        known = dict(zip(choices[place].tolist(), share[place], strict=True)) | {DROPPED: 0}
        assert chosen[place] == pytest.approx(known[of])
    everything = choose(compared, users, rare, 1)[0]
    assert everything.tolist() == [of[0] if len(of) else DROPPED for of in choices]


def test_a_share_is_acceptance_times_utility(shop: Workspace) -> None:
    policy = completion.load_lists(
        {stage: shop.folder(stage) for stage in ("rankings", "demand", "completion")}
    )
    texts, graph = list(policy.retriever.texts), policy.retriever.graph
    rare, query = texts.index(RARE[0]), [texts.index(text) for text in ("lamp", "lamp gold", "lock")]
    compared = shares(policy, np.array([rare]), [np.array(query)])
    wanted = graph.demand.matrix(graph.documents).toarray()[rare]
    page = graph.exposure.matrix(len(texts)).toarray()
    own = wanted @ page[:, rare]
    slots = Slots(np.array([0, 3]), np.zeros(3, int), np.zeros(3, int), np.array(query), np.ones(3, bool))
    accepted = policy.accepted(np.array([rare]), slots)
    expected = {of: a * min(wanted @ page[:, of] / own, 1) for of, a in zip(query, accepted, strict=True)}
    found = dict(zip(compared.values.tolist(), compared.weights.tolist(), strict=True))
    assert found == pytest.approx({of: share for of, share in expected.items() if share > 0})
    assert texts[compared.values[0]] == "lamp gold"
    assert texts.index("lock") not in found


def test_compared_are_the_most_searched_of_each_shared_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anonymous_demand, "MOST", 1)
    beginnings = Beginnings(["lamp", "lamp blue", "lamp bold", "lock", "tv"], np.array([5, 1, 2, 9, 99]))
    assert beginnings.compared("lamp bx").tolist() == [0, 2, 3]  # of "lamp b", "lamp" and "l"
    assert beginnings.compared("tx").tolist() == [4]
    assert beginnings.compared("x").tolist() == []
    monkeypatch.setattr(anonymous_demand, "LEVELS", 1)
    assert beginnings.compared("lamp bx").tolist() == [2]
    assert Beginnings([], np.zeros(0, np.int64)).compared("x").tolist() == []


def test_users_are_those_of_training_searches_by_what_they_intended(tmp_path: Path) -> None:
    searches = pa.table(
        {
            "search": pa.array([0, 1, 2, 3, 4, 5], pa.int64()),
            "split": ["retriever", "ranker", "test", "retriever", "retriever", "ranker"],
            "query": pa.array([0, 0, 0, 2, 2, 2], pa.int32()),
            "user_id": ["ann", "ann", "bob", "bob", None, "cid"],
        }
    )
    pq.write_table(searches, tmp_path / "numbered_searches.parquet")
    assert users_of(tmp_path, 3).lengths.tolist() == [1, 0, 2]
    intended = {"search": [5, 5, 2], "query": [0, 1, 1], "probability": [0.5, 0.5, 1.0]}
    types = [("search", pa.int64()), ("query", pa.int64()), ("probability", pa.float64())]
    pq.write_table(pa.table(intended, schema=pa.schema(types)), tmp_path / "intended.parquet")
    assert users_of(tmp_path, 3, tmp_path).lengths.tolist() == [
        2,
        1,
        1,
    ]  # search 5 counts for 0 and 1, 2 is a test


def test_stored_and_computed_lists_of_single_queries_count_the_same(shop: Workspace) -> None:
    build(shop, IndexConfig(min_users=3, policy="expected"))
    index = Completer.open(shop).index
    typed = pa.table({"prefix": ["l", "la", "lam", "lamp", "lo"]})
    live = index.policy.complete(typed, 3, mode="any")
    for place, text in enumerate(typed["prefix"].to_pylist()):
        known = [index.shown[number] for number in live.query[live.context == place].tolist()]
        assert [found.query for found in Completer.open(shop).complete(text, 3)] == known
    build(shop, IndexConfig(min_users=3))
