"""What all methods have in common, and what each assumes."""

import json

import numpy as np
import pytest
from made_impressions import LAWS, RANKS, impressions, one_sentence, shown

from wayword.engines import Engine
from wayword.errors import LogError, WaywordError
from wayword.propensity import regression_em
from wayword.propensity.comparison import compare
from wayword.propensity.estimate import METHODS, Method, Options, check_falls, estimate
from wayword.propensity.power_law import fitted_law
from wayword.propensity.strata import Impressions
from wayword.simulation.result_pages import World, draw


@pytest.fixture(scope="module")
def data() -> Impressions:
    return draw(
        np.random.default_rng(0), LAWS["alpha 1"], searches=20_000, world=World(periods=1)
    ).impressions()


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_p_relative_to_rank_1_with_intervals(data: Impressions, method: Method) -> None:
    found = estimate(data, Options(method))
    assert (found.p[0], found.low[0], found.high[0]) == (1, 1, 1)
    assert found.ranks.tolist() == RANKS.tolist()
    assert (found.low[1:] < found.p[1:]).all()
    assert (found.p[1:] < found.high[1:]).all()
    assert np.abs(found.p[1:5] * RANKS[1:5] - 1).max() < 0.25
    assert found.table().column_names == ["rank", "p", "low", "high"]
    assert json.loads(json.dumps(found.as_object()))["extrapolated_after_rank"] == 10
    assert np.exp(np.mean(np.log(found.p * RANKS))) == pytest.approx(1, abs=0.35)


@pytest.mark.parametrize("method", METHODS)
def test_the_same_impressions_give_the_same_estimate(data: Impressions, method: Method) -> None:
    one, two = (estimate(data, Options(method), intervals=False).p for _ in range(2))
    assert one.tolist() == two.tolist()


def test_ranks_beyond_the_table_have_the_fitted_law(data: Impressions) -> None:
    found = estimate(data, Options())
    table = found.at(np.array([1, 3, 20, 100]))
    assert table["p"][:2].to_pylist() == found.p[[0, 2]].tolist()
    law = np.exp(found.law.constant) * np.array([20.0, 100.0]) ** -found.law.alpha
    assert table["p"][2:].to_pylist() == pytest.approx(law.tolist())
    assert table["low"][3].as_py() < table["p"][3].as_py() < table["high"][3].as_py()
    assert table["p"][3].as_py() == pytest.approx(1 / 100, rel=0.3)


def test_a_law_fitted_to_a_flat_end_does_not_rise_beyond_it() -> None:
    law = fitted_law(np.array([1, 2, 3]), np.log([1, 1.1, 1.3]), np.array([0, 0.1, 0.1]))
    assert law.at([4, 50])[0].tolist() == pytest.approx([1.3, 1.3])


def test_p_that_rises_by_more_than_chance_is_said(engine: Engine) -> None:
    """A result at rank 2 is clicked twice as often as at rank 1."""
    rows = [row for n in range(600) for row in shown(n, ("a", 1 + n % 2, n // 2 % (4 - 2 * (n % 2)) == 0))]
    found = estimate(impressions(engine, rows), Options())
    assert found.p[1] == pytest.approx((1 / 2) / (1 / 4))
    (note,) = [
        note
        for note in found.notes
        if note.startswith("p rises by more than chance from rank 1 to 2; expected")
    ]
    assert one_sentence(note)
    flat = estimate(impressions(engine, rows), Options(monotone=True))
    assert flat.p.tolist() == pytest.approx([1, 1])
    check_falls(flat)


def rising(engine: Engine, *wanted: float) -> Impressions:
    """A result goes from rank to rank, and is clicked in these shares of its searches."""
    rows = []
    for n in range(400 * len(wanted)):
        rank = n % len(wanted)
        rows += shown(n, ("a", 1 + rank, int(n // len(wanted) % 100 < 100 * wanted[rank])))
    return impressions(engine, rows)


def test_p_that_rises_from_the_first_rank_to_the_last_is_not_used(engine: Engine) -> None:
    found = estimate(rising(engine, 0.1, 0.2, 0.4), Options())
    assert found.p == pytest.approx([1, 2, 4])
    with pytest.raises(LogError, match="from 1 at rank 1 to 4 at rank 3; expected less attention") as error:
        check_falls(found)
    assert one_sentence(str(error.value))


@pytest.mark.parametrize("wanted", [(0.4, 0.1, 0.2), (0.2, 0.21, 0.21), (0.4, 0.2, 0.1)])
def test_p_that_rises_in_one_place_or_by_chance_is_used(engine: Engine, wanted: tuple[float, ...]) -> None:
    check_falls(estimate(rising(engine, *wanted), Options()))


def test_options_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(WaywordError, match="only the method em"):
        Options(trust_bias=True)
    with pytest.raises(WaywordError, match="only likelihood"):
        Options("chain", monotone=True)


def test_em_with_trust_bias_comes_nearer_to_the_truth_where_people_trust_the_order() -> None:
    """p is then the slope p (z⁺ − z⁻) in relevance."""
    world = World(queries=100, periods=1)
    pages = draw(np.random.default_rng(0), LAWS["alpha 1"], searches=60_000, clicks="trust", world=world)
    slope = LAWS["alpha 1"] * (0.95 - 0.3 / RANKS)
    strata = pages.impressions().strata.pooled()
    missed = [
        np.mean(np.abs(np.exp(regression_em.fit(strata, trust_bias=trust).log_p) * slope[0] / slope - 1))
        for trust in (True, False)
    ]
    assert missed[0] < 0.7 * missed[1]


def test_the_chain_says_where_neighbours_are_never_compared(engine: Engine) -> None:
    """Results move between ranks 1 and 3, and between 2 and 3."""
    rows = [row for n in range(300) for row in shown(n, ("a", 1 + 2 * (n % 2), n % 3 == 0))]
    rows += [row for n in range(300, 600) for row in shown(n, ("b", 2 + n % 2, n % 3 == 0))]
    data = impressions(engine, rows)
    assert estimate(data, Options()).ranks.tolist() == [1, 2, 3]
    with pytest.raises(LogError, match=r"at ranks 1 and 2: use `--method likelihood`"):
        estimate(data, Options("chain"))
    found = compare(data)
    assert "chain" not in found.estimates
    assert found.dependence.sentence.startswith("This log has no clicks that tell")
