from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from small_worlds import WORLDS, small_world

from wayword.errors import WaywordError
from wayword.simulation.click_model import examination_probabilities
from wayword.simulation.world import World, click_rate, invisible_share, truth


@pytest.fixture(params=list(WORLDS))
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    """Each world in turn."""
    return small_world(request.param, tmp_path / "xmc")


def slow_truth(world: World) -> dict[tuple[str, str], float]:
    """mass[q, a] one intent at a time."""
    queries, documents = world.queries.to_pylist(), world.documents["document"].to_pylist()
    returned = {(row["query"], row["document"]) for row in world.rankings.to_pylist()}
    mass: dict[tuple[str, str], float] = defaultdict(float)
    for owner, number in zip(world.intents.owner, world.intents.document, strict=True):
        pair = (queries[world.intents.query[owner]], documents[number])
        if pair in returned:
            mass[pair] += world.intents.probability[owner]
    return mass


def masses(table: pa.Table) -> dict[tuple[str, str], float]:
    return {(row["query"], row["document"]): row["mass"] for row in table.to_pylist()}


def test_truth_is_that_of_a_slow_loop(world: World) -> None:
    assert masses(truth(world, world.hits())) == pytest.approx(slow_truth(world))


def test_intents_are_a_probability_and_their_queries_are_known(world: World) -> None:
    assert world.intents.probability.sum() == pytest.approx(1.0)
    assert np.all(world.intents.probability > 0)
    assert set(world.intents.query) == set(range(len(world.queries)))
    assert set(world.rankings["query"].to_pylist()) <= set(world.queries.to_pylist())


def test_no_mass_exceeds_the_probability_of_its_query(world: World) -> None:
    issued = np.bincount(world.intents.query, weights=world.intents.probability)
    of_query = dict(zip(world.queries.to_pylist(), issued, strict=True))
    for (query, _), mass in masses(truth(world, world.hits())).items():
        assert 0 < mass <= of_query[query] * (1 + 1e-12)


def test_the_click_rate_is_the_mass_at_the_ranks(world: World) -> None:
    law = examination_probabilities(world.depth)
    rank = {(row["query"], row["document"]): row["rank"] for row in world.rankings.to_pylist()}
    expected = sum(mass * law[rank[pair] - 1] for pair, mass in slow_truth(world).items())
    assert click_rate(world, world.hits(), law) == pytest.approx(expected)


def test_what_no_log_can_show_is_the_mass_that_queries_do_not_return(world: World) -> None:
    wanted = sum(world.intents.probability[owner] for owner in world.intents.owner)
    seen = sum(slow_truth(world).values())
    assert invisible_share(world, world.hits()) == pytest.approx((wanted - seen) / wanted)


def test_hits_are_by_intent_and_rank(world: World) -> None:
    hits = world.hits()
    places = list(zip(hits.owner, hits.rank, strict=True))
    assert places == sorted(set(places))


def test_a_ranker_that_answers_with_strangers_is_named(world: World) -> None:
    stranger = pa.table(
        {"query": [world.queries[0].as_py()], "document": ["?"], "rank": pa.array([1], pa.int32())}
    )
    odd = World(world.documents, world.queries, stranger, world.intents, world.depth, "all")
    with pytest.raises(WaywordError, match="1 rows of an unknown document"):
        odd.hits()
