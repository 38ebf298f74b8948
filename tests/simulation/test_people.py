"""The laws of simulated people, and their expected outcomes by arithmetic."""

import numpy as np
import pytest
from numpy.typing import NDArray
from typing_worlds import two_queries, world_of

from wayword.errors import WaywordError
from wayword.simulation.logging_policy import popular_lists
from wayword.simulation.people import KINDS, NAMES, SHARES, People, expected_outcomes
from wayword.simulation.queries import Queries
from wayword.simulation.typing_sessions import Typing

PAGES = {
    "video player": ["a", "b"],
    "players of videos": ["b", "a"],
    "videoplayer": ["a"],
    "movies": ["b"],
    "mail": ["c"],
    "nowhere": [],
}


def queries() -> Queries:
    """People who type "video player" want a; those who type "nowhere" want c and do not get it."""
    return Queries.of(world_of(PAGES, [("video player", 0.8, ["a", "b"]), ("nowhere", 0.2, ["c"])]))


def acceptance(kind: str, suggested: str, *, intended: str = "video player", continues: bool = True) -> float:
    known = queries()
    (law,) = People.named(kind, known).laws
    meant, shown = (np.array([known.texts.index(text)]) for text in (intended, suggested))
    return float(law.acceptance(meant, shown, np.array([continues]))[0])


def test_strict_people_accept_a_spelling_and_nothing_else() -> None:
    assert acceptance("strict", "videoplayer") == 0.9
    assert acceptance("strict", "players of videos") == 0.0


def test_lenient_people_count_shared_words() -> None:
    assert acceptance("lenient", "players of videos") == pytest.approx(0.7 * 2 / 3)
    assert acceptance("lenient", "videoplayer") == pytest.approx(0.7 * 1 / 2)  # a crude stem: "video"
    assert acceptance("lenient", "mail") == 0.0
    assert acceptance("hurried", "players of videos", continues=False) == pytest.approx(0.7 * 0.7 * 2 / 3)


def test_people_who_go_by_meaning_accept_a_page_that_serves_them() -> None:
    first, second = (1 / 1) / (1 + 1 / 2), (1 / 2) / (1 + 1 / 2)
    assert acceptance("meaning", "players of videos") == pytest.approx(0.6)
    assert acceptance("meaning", "movies") == pytest.approx(0.6 * first / (first + second))
    assert acceptance("meaning", "mail") == 0.0
    assert acceptance("meaning", "mail", intended="nowhere") == 0.0


@pytest.mark.parametrize("name", NAMES)
def test_every_law_is_a_probability_is_1_for_the_own_query_and_reads_less_further_down(name: str) -> None:
    known = queries()
    people = People.named(name, known)
    assert people.shares.sum() == pytest.approx(1)
    assert people.once == name.endswith("-once")
    n = len(known.texts)
    intended, suggested = (grid.ravel() for grid in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))
    for law in people.laws:
        for continues in (np.ones(n * n, np.bool_), np.zeros(n * n, np.bool_)):
            accepted = law.acceptance(intended, suggested, continues)
            assert ((accepted >= 0) & (accepted <= 1)).all()
            assert (accepted[intended == suggested] == 1).all()
        reading = law.reading(20)
        assert (np.diff(reading) <= 0).all()
        assert 0 < reading[-1] <= reading[0] <= 1


def test_the_mix_has_every_kind() -> None:
    assert list(SHARES) == list(KINDS)


def test_an_unknown_kind_is_told_the_nearest() -> None:
    with pytest.raises(WaywordError, match="Did you mean 'hurried'"):
        People.named("huried", queries())


def test_utility_is_that_of_a_dense_product() -> None:
    known = queries()
    wants, pages = known.wants.toarray(), known.pages.toarray()
    n = len(known.texts)
    intended, suggested = np.random.default_rng(0).integers(n, size=(2, 50))
    own = (wants * pages).sum(axis=1)
    dense = [
        1.0 if q == s or own[q] == 0 else wants[q] @ pages[s] / own[q]
        for q, s in zip(intended, suggested, strict=True)
    ]
    np.testing.assert_allclose(known.utility(intended, suggested), dense)


def test_people_want_only_what_their_query_returns_if_asked() -> None:
    world = world_of({"ab": ["d0"], "cd": ["d1"]}, [("ab", 1.0, ["d0", "d1"])])
    pair = np.array([0]), np.array([1])
    assert Queries.of(world).utility(*pair) == [1.0]
    assert Queries.of(world, returned_only=True).utility(*pair) == [0.0]


@pytest.mark.parametrize("name", ["everything", "everything-once"])
def test_two_queries_by_arithmetic(name: str) -> None:
    """Most popular completion lists "ab", "abc" at both texts, "a" and "ab"."""
    world = two_queries()
    people = People.named(name, Queries.of(world))
    intended = np.array([0, 1])
    outcomes = expected_outcomes(
        people, intended, *Typing(world, people, popular_lists(world)).typed(intended)
    )
    r1, r2 = 0.9, 0.9 * 2**-0.6
    nothing = (1 - r1) * (1 - r2)
    at_once = r1 * (1 / 2) + (1 - r1) * r2  # "ab" is worth 1/2 to those who want the second of its page
    np.testing.assert_allclose(outcomes.found, [r1 + nothing, at_once + nothing * (at_once + nothing)])
    np.testing.assert_allclose(outcomes.taken, [1 - nothing, 1 - nothing**2])
    typed = [
        (1 - nothing) * 1 + nothing * 2,
        (1 - nothing) * 1 + nothing * ((1 - nothing) * 2 + nothing * 3),
    ]
    np.testing.assert_allclose(outcomes.typed, typed)
    weights = np.array([0.6, 0.4])
    assert outcomes.mean(weights)["keystrokes"] == pytest.approx(weights @ typed / (0.6 * 2 + 0.4 * 3))


def test_the_mix_is_the_mean_of_its_kinds() -> None:
    world = two_queries()
    known, intended = Queries.of(world), np.array([0, 1])

    def found(name: str) -> NDArray[np.float64]:
        people = People.named(name, known)
        typed = Typing(world, people, popular_lists(world)).typed(intended)
        return expected_outcomes(people, intended, *typed).found

    np.testing.assert_allclose(found("mix"), sum(share * found(kind) for kind, share in SHARES.items()))


def test_people_who_decide_once_decline_for_good() -> None:
    """At "r", "re" and "red" the more popular "red bus" is first, the own "red car" second; then it is alone."""
    world = world_of(
        {"red car": ["d0"], "red bus": ["d1"]}, [("red car", 0.4, ["d0"]), ("red bus", 0.6, ["d1"])]
    )
    known, intended = Queries.of(world), np.array([0])
    r1, r2, a = 0.9, 0.9 * 2**-0.6, 0.7 * (1 / 3)

    def astray(name: str) -> float:
        people = People.named(name, known)
        typed = Typing(world, people, popular_lists(world)).typed(intended)
        return 1 - float(
            expected_outcomes(people, intended, *typed).found[0]
        )  # "red bus" finds nothing of it

    fresh = sum(r1 * a * ((1 - r1 * a) * (1 - r2)) ** n for n in range(3))
    once = sum(r1 * a * ((1 - r1) * (1 - r2)) ** n for n in range(3))
    assert astray("lenient") == pytest.approx(fresh)
    assert astray("lenient-once") == pytest.approx(once)
