"""The column `part`: right as often as asked, nothing else in the log changes, and the truth knows its law."""

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from small_worlds import PACKAGES, small_catalogue, small_world

from wayword.errors import WaywordError
from wayword.simulation import simulate as module
from wayword.simulation.context_column import ContextColumn, truth_by_context
from wayword.simulation.simulate import simulate, write_world
from wayword.simulation.world import World, truth
from wayword.simulation.worlds.debian import debian_world
from wayword.text import normalise

SECTION = {name: section for name, (_, section, _) in PACKAGES.items()}


@pytest.fixture(params=["packages", "debian", "debian-pecos"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    """Each world that has a context column."""
    return small_world(request.param, tmp_path)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", 4096)


def slow_law(world: World) -> dict[str, float]:
    """How often people browse each part."""
    law: dict[str, float] = defaultdict(float)
    assert world.context_values is not None
    for part, probability in zip(world.context_values.to_pylist(), world.intents.probability, strict=True):
        law[part] += probability
    return law


def slow_said(law: dict[str, float], true: str, said: str, right: float) -> float:
    """P(log says `said` | true part)."""
    if said == true:
        return right
    return (1 - right) * law[said] / sum(share for part, share in law.items() if part != true)


# --- what is true


def test_the_part_of_a_package_is_its_section(tmp_path: Path) -> None:
    world = small_world("packages", tmp_path)
    wanted = world.documents["document"].take(pa.array(world.intents.document)).to_pylist()
    assert world.context_values is not None
    assert world.context_values.to_pylist() == [SECTION[name] for name in wanted]


def test_the_part_of_a_title_is_that_of_its_package(tmp_path: Path) -> None:
    world = small_world("debian", tmp_path)
    sections = {normalise(title): section for title, section, _ in PACKAGES.values()}
    assert world.context_values is not None
    assert world.context_values.to_pylist() == [sections[query] for query in world.queries.to_pylist()]


def test_packages_of_one_title_vote_and_a_tie_goes_by_name() -> None:
    lists = pa.array([[4], [4], [5], [4], [5], []], pa.list_(pa.int32()))
    nothing = pa.array([[]] * 6, pa.list_(pa.int32()))
    catalogue = pa.table(
        {
            "package": list("abcdef"),
            "title": ["Editor", "editor!", "EDITOR", "mail", "Mail", "other"],
            "section": ["text", "text", "admin", "web", "net", "misc"],
            "depends": lists,
            "recommends": nothing,
            "suggests": nothing,
            "enhances": nothing,
        }
    )
    world = debian_world(catalogue)
    assert world.context_values is not None
    assert dict(zip(world.queries.to_pylist(), world.context_values.to_pylist(), strict=True)) == {
        "editor": "text",
        "mail": "net",
    }


# --- what the log says


@pytest.mark.parametrize("right", [0.3, 0.7, 1.0])
def test_the_law_of_what_is_said_is_that_of_the_formula(world: World, right: float) -> None:
    column, law = ContextColumn.of(world, right), slow_law(world)
    names = column.values.to_pylist()
    assert names == sorted(law)
    expected = [[slow_said(law, true, said, right) for said in names] for true in names]
    assert column.confusion_matrix() == pytest.approx(np.array(expected))
    assert column.confusion_matrix().sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("right", [0.3, 0.7])
def test_what_is_drawn_is_as_frequent_as_the_law_says(world: World, right: float) -> None:
    column = ContextColumn.of(world, right)
    rng = np.random.default_rng(1)
    for intent in range(len(world.intents.query)):
        said = column.confusion_matrix()[column.true_value[intent]]
        drawn = np.bincount(column.draw(rng, np.full(40_000, intent)), minlength=len(said))
        assert np.all(np.abs(drawn / 40_000 - said) <= 4.5 * np.sqrt(said * (1 - said) / 40_000))


def test_a_column_that_is_always_right_says_the_true_part(world: World, tmp_path: Path) -> None:
    log = pq.read_table(write_world(world, clicks=3000, out=tmp_path / "out", part=1.0) / "clicks.parquet")
    assert world.context_values is not None
    issued = world.queries.take(pa.array(world.intents.query)).to_pylist()
    possible = set(zip(issued, world.context_values.to_pylist(), strict=True))
    assert set(zip(log["query"].to_pylist(), log["part"].to_pylist(), strict=True)) == possible


def test_queries_and_parts_of_the_log_are_as_frequent_as_the_law_says(world: World, tmp_path: Path) -> None:
    log = pq.read_table(
        write_world(world, clicks=20_000, out=tmp_path / "out", seed=2, part=0.7) / "clicks.parquet"
    )
    assert world.context_values is not None
    law, expected = slow_law(world), defaultdict[tuple[str, str], float](float)
    for query, true, probability in zip(
        world.queries.take(pa.array(world.intents.query)).to_pylist(),
        world.context_values.to_pylist(),
        world.intents.probability,
        strict=True,
    ):
        for said in law:
            expected[query, said] += probability * slow_said(law, true, said, 0.7)
    counts = log.group_by(["query", "part"]).aggregate([([], "count_all")]).to_pylist()
    found = {(row["query"], row["part"]): row["count_all"] / len(log) for row in counts}
    assert found.keys() == expected.keys()
    for key, share in expected.items():
        assert found[key] == pytest.approx(share, abs=4.5 * np.sqrt(share * (1 - share) / len(log)))


def test_everything_else_is_as_it_is_without_the_column(world: World, tmp_path: Path) -> None:
    without, with_part = (
        write_world(world, clicks=2000, out=tmp_path / name, seed=4, part=part)
        for name, part in (("a", None), ("b", 0.7))
    )
    log = pq.read_table(with_part / "clicks.parquet")
    assert log.column_names == ["search_id", "query", "document", "rank", "part"]
    assert log.drop_columns(["part"]) == pq.read_table(without / "clicks.parquet")
    for name in ("rankings.parquet", "documents.parquet"):
        assert (with_part / name).read_bytes() == (without / name).read_bytes()
    facts, others = (json.loads((folder / "world.json").read_text()) for folder in (with_part, without))
    assert facts == others | {"part": 0.7, "parts": len(slow_law(world))}


def test_a_shorter_log_is_the_beginning_of_a_longer_and_of_clicks_alone_too(
    world: World, tmp_path: Path
) -> None:
    short, long, only = (
        pq.read_table(
            write_world(world, clicks=clicks, out=tmp_path / name, part=0.7, clicks_only=only)
            / "clicks.parquet"
        )
        for name, clicks, only in (("a", 50, False), ("b", 5000, False), ("c", 5000, True))
    )
    assert len(long) > 4096  # more than a chunk
    assert short == long.slice(0, len(short))
    assert only == long.filter(pc.is_valid(long["document"]))


def test_the_same_seed_gives_the_same_bytes_and_another_another_column(world: World, tmp_path: Path) -> None:
    once, again, other = (
        write_world(world, clicks=200, out=tmp_path / name, seed=seed, part=0.7)
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    for path in once.iterdir():
        assert path.read_bytes() == (again / path.name).read_bytes()
    parts = [pq.read_table(folder / "clicks.parquet")["part"].to_pylist()[:200] for folder in (once, other)]
    assert parts[0] != parts[1]


# --- what is known of it


def slow_truth(world: World, right: float) -> dict[tuple[str, str, str], float]:
    """mass[q, a, c], one intent, relevant document and part at a time."""
    assert world.context_values is not None
    queries, documents = world.queries.to_pylist(), world.documents["document"].to_pylist()
    returned = {(row["query"], row["document"]) for row in world.rankings.to_pylist()}
    law, true = slow_law(world), world.context_values.to_pylist()
    mass: dict[tuple[str, str, str], float] = defaultdict(float)
    for owner, number in zip(world.intents.owner, world.intents.document, strict=True):
        query, document = queries[world.intents.query[owner]], documents[number]
        for said in law:
            share = slow_said(law, true[owner], said, right)
            if (query, document) in returned and share:
                mass[query, document, said] += world.intents.probability[owner] * share
    return mass


@pytest.mark.parametrize("right", [0.4, 0.7, 1.0])
def test_the_truth_is_that_of_a_slow_loop(world: World, right: float) -> None:
    table = truth_by_context(world, world.hits(), ContextColumn.of(world, right))
    found = {(row["query"], row["document"], row["part"]): row["mass"] for row in table.to_pylist()}
    assert len(found) == len(table)
    assert found == pytest.approx(slow_truth(world, right))


def test_the_sum_over_parts_is_the_truth_without_them(world: World, tmp_path: Path) -> None:
    table = pq.read_table(write_world(world, clicks=10, out=tmp_path / "out", part=0.7) / "truth.parquet")
    assert table.column_names == ["query", "document", "part", "mass"]
    sums = table.group_by(["query", "document"], use_threads=False).aggregate([("mass", "sum")])
    plain = truth(world, world.hits())
    assert sums.select(["query", "document"]) == plain.select(["query", "document"])
    assert sums["mass_sum"].to_numpy() == pytest.approx(plain["mass"].to_numpy())


# --- mistakes


@pytest.mark.parametrize("right", [0.0, -0.5, 1.5, float("nan")])
def test_what_is_no_probability_is_refused_before_any_work(right: float, tmp_path: Path) -> None:
    with pytest.raises(WaywordError, match=r"Found part = .* expected a probability above 0"):
        simulate("packages", clicks=1, out=tmp_path / "out", part=right)
    assert not (tmp_path / "out").exists()


def test_a_world_without_parts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WaywordError, match="does not know which part"):
        write_world(small_world("xmc", tmp_path / "xmc"), clicks=1, out=tmp_path / "out", part=0.7)
    with pytest.raises(WaywordError, match="does not know which part"):
        simulate("xmc:nowhere", clicks=1, out=tmp_path / "out", part=0.7)
    assert not (tmp_path / "out").exists()


def test_one_part_alone_can_only_be_right(tmp_path: Path) -> None:
    world = debian_world(small_catalogue(), depth=5)
    alone = replace(world, context_values=pa.array(["all"] * len(world.queries)))
    with pytest.raises(WaywordError, match="1 part in the world; expected two or more"):
        write_world(alone, clicks=1, out=tmp_path / "out", part=0.7)
    log = pq.read_table(write_world(alone, clicks=100, out=tmp_path / "out", part=1.0) / "clicks.parquet")
    assert set(log["part"].to_pylist()) == {"all"}
