from collections import Counter
from math import sqrt
from pathlib import Path

import pytest
from small_worlds import PACKAGES, fake_pecos, small_catalogue

from wayword.errors import WaywordError
from wayword.simulation.catalogue import load_catalogue
from wayword.simulation.world import truth
from wayword.simulation.worlds import WORLDS, open_world
from wayword.simulation.worlds.debian import debian_world
from wayword.simulation.worlds.packages import (
    is_program,
    packages_world,
    query_probabilities,
)
from wayword.text import normalise


def related() -> Counter[str]:
    pairs = {(name, t) for name, (_, _, kinds) in PACKAGES.items() for ts in kinds.values() for t in ts}
    return Counter(target for _, target in pairs)


def test_packages_are_wanted_by_the_root_of_their_relations() -> None:
    world = packages_world(small_catalogue())
    programs = [
        n for n, (title, section, _) in PACKAGES.items() if related()[n] and is_program(n, title, section)
    ]
    assert world.documents["document"].to_pylist() == sorted(programs, key=lambda n: (-related()[n], n))
    total = sum(sqrt(related()[n]) for n in programs)
    wanted: Counter[str] = Counter()
    for number, probability in zip(world.intents.document, world.intents.probability, strict=True):
        wanted[world.documents["document"][int(number)].as_py()] += probability
    assert wanted == pytest.approx({n: sqrt(related()[n]) / total for n in programs})


def test_a_smaller_centre_keeps_the_most_related() -> None:
    assert packages_world(small_catalogue(), size=2).documents["document"].to_pylist() == ["gnupg", "mutt"]


def test_people_type_the_name_or_a_shared_phrase() -> None:
    law = query_probabilities(
        ["a-b", "c", "d"], ["fast mail reader", "the mail reader, slow", "mail for you"]
    )[0]
    assert law == pytest.approx({"a b": 0.3, "mail reader": 0.7})


def test_a_name_that_is_also_a_phrase_gets_both_shares() -> None:
    assert query_probabilities(["mail", "b"], ["mail", "mail"])[0] == {"mail": pytest.approx(1.0)}


def test_every_law_of_queries_is_a_probability() -> None:
    catalogue = load_catalogue().slice(0, 3000)
    for law in query_probabilities(catalogue["package"].to_pylist(), catalogue["title"].to_pylist()):
        assert sum(law.values()) == pytest.approx(1.0)
        assert all(query == normalise(query) and query for query in law)


def test_the_software_centre_is_dense_and_has_what_people_look_for() -> None:
    world = open_world("packages")
    names = set(world.documents["document"].to_pylist())
    assert world.documents.num_rows == 3000
    assert {"mpv", "vlc", "gimp", "hugin", "thunderbird", "firefox-esr", "emacs"} <= names
    assert not any(
        name.startswith("lib") or name.endswith(("-dev", "-doc", "-data", "-dbg")) for name in names
    )
    assert 3500 < len(world.queries) < 8000
    assert all(len(query.split()) <= 3 for query in world.queries.to_pylist())


def test_titles_find_what_their_packages_relate_to() -> None:
    world = debian_world(small_catalogue())
    documents = {name for name, count in related().items() if 2 <= count <= 1500}
    assert set(world.documents["document"].to_pylist()) == documents
    relevant: dict[str, set[str]] = {}
    for title, _, kinds in PACKAGES.values():
        targets = {t for ts in kinds.values() for t in ts} & documents
        if targets:
            relevant.setdefault(normalise(title), set()).update(targets)
    assert world.queries.to_pylist() == sorted(relevant)
    returned = {(row["query"], row["document"]) for row in world.rankings.to_pylist()}
    expected = {
        (q, a): 1 / len(relevant) for q, found in relevant.items() for a in found if (q, a) in returned
    }
    found = {(row["query"], row["document"]): row["mass"] for row in truth(world, world.hits()).to_pylist()}
    assert found == pytest.approx(expected)


def test_pecos_is_trained_on_the_distinct_pairs() -> None:
    bm25, pecos_world = (
        debian_world(small_catalogue()),
        debian_world(small_catalogue(), ranker=fake_pecos, depth=2),
    )
    assert pecos_world.queries == bm25.queries
    assert pecos_world.rankings.num_rows == 2 * len(bm25.queries)


@pytest.mark.parametrize(
    ("name", "nearest"), [("package", "packages"), ("debian_pecos", "debian-pecos"), ("xmc:", "xmc:PATH")]
)
def test_an_unknown_world_names_the_nearest(name: str, nearest: str) -> None:
    with pytest.raises(WaywordError, match=f"Did you mean '{nearest}'") as caught:
        open_world(name)
    assert all(known in str(caught.value) for known in WORLDS)


def test_options_of_another_world_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WaywordError, match="only xmc:PATH"):
        open_world("packages", ranker="pecos")
    with pytest.raises(WaywordError, match=r"neither lbl.json.gz nor lbl.json"):
        open_world(f"xmc:{tmp_path}", labels=3)
    with pytest.raises(WaywordError, match="Found ranker 'bing'; expected one of 'bm25'"):
        open_world(f"xmc:{tmp_path}", ranker="bing")
