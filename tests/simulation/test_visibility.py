"""The invisible share as a setting: what is asked for is there, and nothing else changes."""

from pathlib import Path

import numpy as np
import pytest
from small_worlds import WORLDS, small_world

from wayword.simulation.visibility import with_invisible_share
from wayword.simulation.world import World, invisible_share
from wayword.simulation.worlds import open_world


def with_share(world: World, share: float) -> World:
    return with_invisible_share(world, share, np.random.default_rng(0))


def seen(world: World) -> set[tuple[int, int]]:
    hits = world.hits()
    return set(zip(world.intents.query[hits.owner].tolist(), hits.document.tolist(), strict=True))


def pages(world: World) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in world.rankings.sort_by([("query", "ascending"), ("rank", "ascending")]).to_pylist():
        page = found.setdefault(row["query"], [])
        page.append(row["document"])
        assert row["rank"] == len(page)
    return found


@pytest.mark.parametrize("name", WORLDS)
def test_nothing_is_invisible_where_nothing_may_be(name: str, tmp_path: Path) -> None:
    world = small_world(name, tmp_path)
    shown = with_share(world, 0.0)
    pushed_out = len(set(zip(world.intents.query[world.intents.owner], world.intents.document, strict=True)))
    assert len(seen(shown)) == pushed_out or shown.rankings["rank"].to_numpy().max() == world.depth
    assert invisible_share(shown, shown.hits()) <= invisible_share(world, world.hits())


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.75])
def test_the_share_is_the_one_asked_for(share: float) -> None:
    world = open_world("debian-dense")
    found = with_share(world, share)
    assert invisible_share(found, found.hits()) == pytest.approx(share, abs=0.005)
    assert found.intents is world.intents
    assert found.queries is world.queries


def test_a_smaller_share_shows_more_of_the_same() -> None:
    world = open_world("debian-dense")
    assert seen(with_share(world, 0.75)) < seen(with_share(world, 0.6)) < seen(world)
    assert len(seen(world) - seen(with_share(world, 0.2))) < 0.01 * len(
        seen(world)
    )  # pushed past the last rank


def test_results_that_nobody_wants_keep_their_order() -> None:
    world = open_world("debian-dense")
    wanted = set(
        zip(world.intents.query[world.intents.owner].tolist(), world.intents.document.tolist(), strict=True)
    )
    texts, documents = world.queries.to_pylist(), world.documents["document"].to_pylist()
    names = {(texts[query], documents[document]) for query, document in wanted}
    before, after = pages(world), pages(with_share(world, 0.75))
    for query, page in before.items():
        unwanted = [document for document in page if (query, document) not in names]
        assert [document for document in after.get(query, []) if (query, document) not in names] == unwanted
