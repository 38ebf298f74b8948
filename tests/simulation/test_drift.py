"""A world that drifts."""

from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from shop import DOCUMENTS, make_world
from wayword.errors import WaywordError
from wayword.simulation.drift import NEW, Drift
from wayword.simulation.simulate import write_world
from wayword.simulation.world import truth

DAYS = 5


def test_popularity_takes_normal_steps_and_new_documents_appear_once() -> None:
    drift = Drift.of(make_world(), 0.3, 3000, np.random.default_rng(0))
    there = drift.popularity > 0
    assert (there[1:] >= there[:-1]).all()
    assert there[-1].all()
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.diff(np.log(drift.popularity), axis=0)[there[:-1]]
    assert steps.std() == pytest.approx(0.3, rel=0.02)
    many = Drift.of(make_world(), 0.0, 2, np.random.default_rng(0)).popularity
    assert set(np.unique(many)) <= {0.0, 1.0}


def test_an_intent_is_as_popular_as_its_documents() -> None:
    world = make_world()
    drift = Drift.of(world, 0.5, DAYS, np.random.default_rng(2))
    day, intents = drift.on(3), world.intents
    expected = np.array(
        [
            p * np.mean([drift.popularity[3][a] for a in intents.document[intents.owner == i]])
            for i, p in enumerate(intents.probability)
        ]
    )
    np.testing.assert_allclose(day.intents.probability, expected / expected.sum())


def test_the_log_has_as_many_clicks_every_day_in_the_order_of_time(tmp_path: Path) -> None:
    folder = write_world(make_world(), clicks=1003, out=tmp_path / "a", drift=0.4, days=DAYS)
    log = pq.read_table(folder / "clicks.parquet")
    times = log["time"].to_pylist()
    assert times == sorted(times)
    assert log["search_id"].to_pylist() == list(range(log.num_rows))
    clicked = log.filter(pc.is_valid(log["document"]))
    counts = pc.value_counts(pc.utf8_slice_codeunits(clicked["time"], 0, 10)).to_pylist()
    assert [row["values"] for row in counts] == [f"2026-01-0{day}" for day in range(1, DAYS + 1)]
    assert [row["counts"] for row in counts] == [200, 200, 200, 200, 203]
    again = write_world(make_world(), clicks=1003, out=tmp_path / "b", drift=0.4, days=DAYS)
    for name in ("clicks", "truth", "rankings"):
        assert (folder / f"{name}.parquet").read_bytes() == (again / f"{name}.parquet").read_bytes()


def test_the_truth_is_that_of_the_last_day_and_clicks_follow_each_days_law(tmp_path: Path) -> None:
    from wayword.simulation.simulate import separate_generator

    world = make_world()
    folder = write_world(world, clicks=20_000, out=tmp_path, drift=1.0, days=2)
    drift = Drift.of(world, 1.0, 2, separate_generator(0, 2))
    last = drift.on(1)
    assert pq.read_table(folder / "truth.parquet").equals(truth(last, last.hits()))
    log = pq.read_table(folder / "clicks.parquet")
    for day in (0, 1):
        searched = log.filter(pc.match_substring(log["time"], f"2026-01-0{day + 1}"))["query"]
        share = {
            row["values"]: row["counts"] / len(searched) for row in pc.value_counts(searched).to_pylist()
        }
        intents = drift.on(day).intents
        law = np.bincount(intents.query, intents.probability)
        found = [share.get(query.as_py(), 0.0) for query in world.queries]
        np.testing.assert_allclose(found, law, atol=4 * np.sqrt(0.25 / len(searched)))


def test_some_documents_are_wanted_only_later() -> None:
    drift = Drift.of(make_world(), 0.1, DAYS, np.random.default_rng(1))
    assert 0 < (drift.popularity[0] == 0).mean() < 3 * NEW + 1 / len(DOCUMENTS)


@pytest.mark.parametrize(("strength", "days"), [(-0.1, 3), (0.1, 0), (11.0, 3), (float("nan"), 3)])
def test_a_drift_that_cannot_be_is_refused(strength: float, days: int, tmp_path: Path) -> None:
    with pytest.raises(WaywordError, match="expected"):
        write_world(make_world(), clicks=10, out=tmp_path, drift=strength, days=days)
