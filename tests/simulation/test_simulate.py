from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from small_worlds import WORLDS, small_world

from progress_steps import Steps
from wayword.errors import WaywordError
from wayword.simulation import simulate as module
from wayword.simulation.click_model import examination_probabilities
from wayword.simulation.simulate import CLICKS_SCHEMA, Searches, simulate, write_world
from wayword.simulation.world import World, click_rate, truth
from wayword.simulation.worlds import open_world

FILES = ["clicks.parquet", "documents.parquet", "rankings.parquet", "truth.parquet", "world.json"]


@pytest.fixture(params=list(WORLDS))
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    """Each world in turn."""
    return small_world(request.param, tmp_path / "xmc")


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", 4096)


def test_the_log_has_exactly_the_clicks_and_ends_with_the_last(world: World, tmp_path: Path) -> None:
    log = pq.read_table(write_world(world, clicks=3000, out=tmp_path / "a" / "b") / "clicks.parquet")
    assert log.schema == CLICKS_SCHEMA
    assert len(log) - log["document"].null_count == 3000
    assert log["document"][-1].is_valid
    assert log["search_id"].to_pylist() == list(range(len(log)))
    assert pc.is_null(log["document"]).equals(pc.is_null(log["rank"]))


def test_every_click_is_where_the_rankings_say(world: World, tmp_path: Path) -> None:
    out = write_world(world, clicks=500, out=tmp_path / "out")
    rank = {
        (row["query"], row["document"]): row["rank"]
        for row in pq.read_table(out / "rankings.parquet").to_pylist()
    }
    law = {(row["query"], row["document"]) for row in pq.read_table(out / "truth.parquet").to_pylist()}
    for row in pq.read_table(out / "clicks.parquet").to_pylist():
        if row["document"] is not None:
            assert rank[row["query"], row["document"]] == row["rank"]
            assert (row["query"], row["document"]) in law


def test_the_same_seed_gives_the_same_bytes(world: World, tmp_path: Path) -> None:
    once, again, other = (
        write_world(world, clicks=200, seed=seed, out=tmp_path / name)
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert sorted(path.name for path in once.iterdir()) == FILES
    assert all((once / name).read_bytes() == (again / name).read_bytes() for name in FILES)
    assert (once / "clicks.parquet").read_bytes() != (other / "clicks.parquet").read_bytes()
    assert (once / "truth.parquet").read_bytes() == (other / "truth.parquet").read_bytes()


def test_clicks_only_are_the_clicks_of_the_whole_log(world: World, tmp_path: Path) -> None:
    whole = pq.read_table(write_world(world, clicks=700, out=tmp_path / "a") / "clicks.parquet")
    only = pq.read_table(
        write_world(world, clicks=700, out=tmp_path / "b", clicks_only=True) / "clicks.parquet"
    )
    assert only == whole.filter(pc.is_valid(whole["document"]))


def test_a_shorter_log_is_the_beginning_of_a_longer(world: World, tmp_path: Path) -> None:
    short = pq.read_table(write_world(world, clicks=50, out=tmp_path / "a") / "clicks.parquet")
    long = pq.read_table(write_world(world, clicks=5000, out=tmp_path / "b") / "clicks.parquet")
    assert short == long.slice(0, len(short))


@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_mean_ips_over_all_searches_meets_the_truth(world: World, alpha: float, tmp_path: Path) -> None:
    out = write_world(world, clicks=20_000, out=tmp_path / "out", seed=3, alpha=alpha)
    assert_unbiased(
        pq.read_table(out / "clicks.parquet"), world, examination_probabilities(world.depth, alpha=alpha)
    )


def assert_unbiased(log: pa.Table, world: World, law: NDArray[np.float64]) -> None:
    """For each of some queries q: the mean of p[rank_q(a)] / p[k] meets Σ mass[q̄, a] · p[rank_q(a)].

    Its variance is known too: Σ mass[q̄, a] · p[rank_q(a)]² / p[rank_q̄(a)] less the square of the mean.
    """
    rankings, names = world.rankings, world.documents["document"].combine_chunks()
    rank = {(row["query"], row["document"]): row["rank"] for row in rankings.to_pylist()}
    clicked = log.filter(pc.is_valid(log["document"]))
    looked = law[clicked["rank"].to_numpy() - 1]
    table = truth(world, world.hits())
    mass = table["mass"].to_numpy()
    own = law[np.array([rank[row["query"], row["document"]] for row in table.to_pylist()]) - 1]
    asked = pc.unique(rankings["query"]).to_pylist()
    for query in np.random.default_rng(0).choice(asked, size=min(len(asked), 20), replace=False):
        exposure = np.array(
            [law[rank[query, a] - 1] if (query, a) in rank else 0.0 for a in names.to_pylist()]
        )
        mean = np.sum(exposure[pc.index_in(clicked["document"], names).to_numpy()] / looked) / len(log)
        shown = exposure[pc.index_in(table["document"], names).to_numpy()]
        expected = np.sum(mass * shown)
        deviation = np.sqrt(np.sum(mass * shown**2 / own) - expected**2)
        assert abs(mean - expected) <= 4.5 * deviation / np.sqrt(len(log))


def test_the_click_rate_is_met(world: World, tmp_path: Path) -> None:
    log = pq.read_table(write_world(world, clicks=20_000, out=tmp_path / "out", seed=5) / "clicks.parquet")
    rate = click_rate(world, world.hits(), examination_probabilities(world.depth))
    assert 20_000 / len(log) == pytest.approx(rate, abs=4.5 * np.sqrt(rate * (1 - rate) / len(log)))


def test_rankings_of_the_logged_queries_or_of_all(world: World, tmp_path: Path) -> None:
    out = write_world(world, clicks=1, out=tmp_path / "out")
    collected = set(pq.read_table(out / "rankings.parquet")["query"].to_pylist())
    logged = set(pq.read_table(out / "clicks.parquet")["query"].to_pylist())
    answered = set(world.rankings["query"].to_pylist())
    assert collected == (answered if world.rankings_of == "all" else answered & logged)


@given(st.lists(st.booleans(), max_size=30), st.integers(1, 10))
def test_searches_end_with_the_asked_click(clicked: list[bool], click: int) -> None:
    numbers = np.arange(len(clicked))
    kept = Searches(0, numbers, numbers, numbers, np.array(clicked, np.bool_)).until(click)
    assert int(kept.clicked.sum()) == min(click, sum(clicked))
    assert len(kept.query) == len(clicked) or (kept.clicked[-1] and int(kept.clicked.sum()) == click)


def test_a_failure_leaves_the_old_files_alone(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = write_world(world, clicks=10, out=tmp_path)
    before = {name: (out / name).read_bytes() for name in FILES}
    monkeypatch.setattr(module, "truth", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_world(world, clicks=20, out=tmp_path)
    assert {name: (out / name).read_bytes() for name in FILES} == before
    assert not list(out.glob(".*"))


def test_notes_are_told(world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_world(world, clicks=1, out=tmp_path / "out")
    assert tuple(caplog.messages) == world.notes


def test_a_world_without_clicks_is_an_error(world: World, tmp_path: Path) -> None:
    empty = World(
        world.documents, world.queries, world.rankings.slice(0, 0), world.intents, world.depth, "all"
    )
    with pytest.raises(WaywordError, match="No search of this world can end in a click"):
        write_world(empty, clicks=1, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_world_of_hardly_any_click_is_refused_with_the_numbers(world: World, tmp_path: Path) -> None:
    with pytest.raises(WaywordError, match=r"Of a million searches .* end in a click"):
        write_world(world, clicks=10**9, out=tmp_path / "out")


@pytest.mark.parametrize("bad", [{"clicks": 0}, {"seed": -1}, {"depth": 0}, {"alpha": float("nan")}])
def test_impossible_numbers_are_refused(bad: dict[str, int], tmp_path: Path) -> None:
    with pytest.raises(WaywordError, match=f"Found {next(iter(bad))} = "):
        simulate("packages", **{"clicks": 1, "out": tmp_path, **bad})  # type: ignore[arg-type]


def test_a_file_in_the_way_is_named(tmp_path: Path, world: World) -> None:
    (tmp_path / "taken").touch()
    with pytest.raises(WaywordError, match="taken: it is a file"):
        write_world(world, clicks=1, out=tmp_path / "taken")


def test_the_demo_by_name(tmp_path: Path) -> None:
    progress = Steps()
    out = simulate("packages", clicks=3000, out=tmp_path / "demo", progress=progress)
    log = pq.read_table(out / "clicks.parquet")
    queries = set(log["query"].to_pylist())
    assert progress.steps[-1] == (3000, 3000)
    asked = progress.steps[0][1]
    assert asked > len(queries)
    assert (asked, asked) in progress.steps
    assert set(pq.read_table(out / "rankings.parquet")["query"].to_pylist()) <= queries
    assert len(set(pq.read_table(out / "truth.parquet")["query"].to_pylist())) > len(queries)
    assert_unbiased(log, open_world("packages"), examination_probabilities(100))


@pytest.mark.slow
def test_the_paper_s_world_by_name(tmp_path: Path) -> None:
    out = simulate("debian", clicks=20_000, out=tmp_path / "debian")
    log, rankings = pq.read_table(out / "clicks.parquet"), pq.read_table(out / "rankings.parquet")
    assert pc.count_distinct(rankings["query"]).as_py() > 45_000
    assert len(pq.read_table(out / "documents.parquet")) > 20_000
    assert 0.05 < 20_000 / len(log) < 0.08
    assert pc.max(rankings["rank"]).as_py() == 100
