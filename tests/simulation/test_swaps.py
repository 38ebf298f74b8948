from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from small_worlds import small_world

from shop import DEPTH, make_world
from wayword.errors import WaywordError
from wayword.simulation import simulate as module
from wayword.simulation.click_model import examination_probabilities
from wayword.simulation.simulate import simulate, write_world
from wayword.simulation.swaps import NOTHING, Pages, produced
from wayword.simulation.world import World


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", 4096)
    monkeypatch.setattr(module, "WRITTEN_AT_ONCE", 1000)


@pytest.fixture(params=["debian", "xmc"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    return small_world(request.param, tmp_path / "xmc")


def test_the_impressions_are_the_first_page_of_every_search_with_its_click(
    world: World, tmp_path: Path
) -> None:
    out = write_world(world, clicks=500, swaps=0.5, out=tmp_path / "out")
    pages: dict[str, set[tuple[str, int]]] = {}
    for row in world.rankings.to_pylist():
        pages.setdefault(row["query"], set()).add((row["document"], row["rank"]))
    shown: dict[int, list[dict[str, object]]] = {}
    for row in pq.read_table(out / "impressions.parquet").to_pylist():
        shown.setdefault(row["search_id"], []).append(row)
    moved = 0
    for search in pq.read_table(out / "clicks.parquet").to_pylist():
        page = shown.pop(search["search_id"], [])
        expected = pages.get(search["query"], set())
        assert {row["query"] for row in page} <= {search["query"]}
        assert [row["rank"] for row in page] == list(range(1, len(expected) + 1))
        assert {row["document"] for row in page} == {document for document, _ in expected}
        clicked = [(row["document"], row["rank"]) for row in page if row["clicked"]]
        assert clicked == ([(search["document"], search["rank"])] if search["document"] else [])
        elsewhere = [row for row in page if (row["document"], row["rank"]) not in expected]
        assert len(elsewhere) in (0, 2)
        moved += bool(elsewhere)
    assert not shown
    assert moved > 100


def test_swaps_do_not_depend_on_what_is_wanted_and_move_every_pair_of_ranks_alike() -> None:
    world = make_world()
    pages, searches = Pages.of(world, 0.4), 50_000
    query = np.random.default_rng(1).integers(len(world.queries), size=searches)
    swapped = pages.draw(np.random.default_rng(0), query)
    pairs = swapped[swapped[:, 0] != swapped[:, 1]]
    assert len(pairs) / searches == pytest.approx(0.4, abs=4.5 * np.sqrt(0.4 * 0.6 / searches))
    counts = np.bincount((pairs[:, 0] - 1) * DEPTH + pairs[:, 1] - 1, minlength=DEPTH**2).reshape(DEPTH, -1)
    assert not counts.diagonal().any()
    each = len(pairs) / (DEPTH * (DEPTH - 1))
    assert np.abs(counts[~np.eye(DEPTH, dtype=bool)] - each).max() < 4.5 * np.sqrt(each)


def test_a_query_of_one_result_is_never_swapped() -> None:
    pages = Pages(np.array([[3, *[NOTHING] * 9], [NOTHING] * 10]), share=1.0)
    assert pages.draw(np.random.default_rng(0), np.array([0, 1] * 100)).tolist() == [[1, 1]] * 200


def test_what_stands_at_a_displayed_rank_is_what_the_page_shows() -> None:
    page = np.array([[10, 11, 12, *[NOTHING] * 7]])
    swapped = np.array([[3, 1]])
    _, document, rank, clicked = Pages(page, 1.0).shown(
        np.array([0]), swapped, np.array([10]), np.array([True])
    )
    assert document.tolist() == [12, 11, 10]
    assert document.tolist() == page[0, produced(rank, np.repeat(swapped, 3, axis=0)) - 1].tolist()
    assert clicked.tolist() == [False, False, True]


@pytest.mark.parametrize("alpha", [0.5, 2.0])
def test_clicks_follow_the_law_at_the_displayed_ranks(alpha: float, tmp_path: Path) -> None:
    """Results move at random, so each rank shows the same relevance but for the share that stays: where all move,
    clicks at ranks 2 and on are to those at rank 1 as k^-alpha, within the share that the swaps leave in place."""
    world = make_world()
    out = write_world(world, clicks=20_000, alpha=alpha, swaps=1.0, out=tmp_path / "out")
    log, facts = pq.read_table(out / "clicks.parquet"), Pages.of(world, 1.0)
    examination = examination_probabilities(world.depth, alpha=alpha)
    rate = facts.click_rate(world, world.hits(), examination)
    assert 20_000 / len(log) == pytest.approx(rate, abs=4.5 * np.sqrt(rate * (1 - rate) / len(log)))
    shown = pq.read_table(out / "impressions.parquet")
    expected = expected_rates(world, examination)
    for rank, probability in enumerate(expected, start=1):
        at = shown.filter(pc.equal(shown["rank"], rank))
        found = pc.sum(at["clicked"]).as_py() / len(at)
        assert found == pytest.approx(probability, abs=4.5 * np.sqrt(probability / len(at)))


def expected_rates(world: World, examination: np.ndarray) -> list[float]:
    """Slowly: the click rate at each displayed rank, over all pairs of ranks that may change places."""
    hits, n = world.hits(), DEPTH
    rates = [0.0] * n
    pairs = [(i, j) for i in range(1, n + 1) for j in range(1, n + 1) if i != j]
    for owner, rank in zip(hits.owner, hits.rank, strict=True):
        for i, j in pairs:
            displayed = j if rank == i else i if rank == j else rank
            rates[displayed - 1] += world.intents.probability[owner] * examination[displayed - 1] / len(pairs)
    return rates


def test_without_swaps_there_are_no_impressions_and_the_log_is_as_ever(world: World, tmp_path: Path) -> None:
    plain, none = (
        write_world(world, clicks=300, swaps=swaps, out=tmp_path / name)
        for name, swaps in (("a", None), ("b", 0.0))
    )
    assert not (plain / "impressions.parquet").exists()
    assert (plain / "clicks.parquet").read_bytes() == (none / "clicks.parquet").read_bytes()


def test_a_shorter_log_with_swaps_is_the_beginning_of_a_longer(tmp_path: Path) -> None:
    world = small_world("debian", tmp_path)
    for name in ("clicks", "impressions"):
        short, long = (
            pq.read_table(write_world(world, clicks=n, swaps=0.3, out=tmp_path / f"{n}") / f"{name}.parquet")
            for n in (50, 3000)
        )
        assert short == long.slice(0, len(short))


def test_a_share_beyond_1_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WaywordError, match=r"Found swaps = 30; expected a share of the searches from 0 to 1"):
        simulate("packages", clicks=1, swaps=30, out=tmp_path)
