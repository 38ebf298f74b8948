"""What the lists of each text gain: as a slow reference says; the facts of the log; and nothing withheld is named."""

from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from private_shop import SECRET, TITLES, WITHHELD, open_private_shop

from parsed_page import Page
from shop import QUERIES as QUERIES_SHOWN
from wayword.completion.typing_outcomes import Keystrokes, Lists, Slots
from wayword.engines import tables
from wayword.engines.duck import DuckDB
from wayword.errors import WaywordError
from wayword.evaluation.typing_sessions import Sessions, Shown
from wayword.logs.contexts import from_prefixes
from wayword.report.log_facts import OFTEN, LogFacts
from wayword.report.log_report import write
from wayword.report.text_gains import LEAST, PER, Steps, gains_of, shrinkage, text_gains
from wayword.serving.completer import Completer, Served
from wayword.store.compressed_rows import CompressedRows
from wayword.store.workspace import Workspace
from wayword.text import cut_ends, normalise


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return open_private_shop(tmp_path_factory.mktemp("private"))


@pytest.fixture(scope="module")
def served(workspace: Workspace) -> Served:
    return Completer.open(workspace).served


def test_the_facts_of_the_log_are_counted(workspace: Workspace) -> None:
    engine = DuckDB(threads=1)
    facts = LogFacts.read(engine, workspace)
    engine.close()
    at = workspace.folder("rankings")
    searches, clicks = (
        tables.read(at, name).to_pylist() for name in ("numbered_searches", "numbered_clicks")
    )
    query = {row["search"]: row["query"] for row in searches}
    counts = Counter(query.values())
    clicked = {row["search"] for row in clicks}
    assert facts.clicks == len(clicks)
    assert facts.worth.clicks == facts.clicks
    assert facts.at_first_rank == sum(row["rank"] == 1 for row in clicks)
    assert facts.deepest == max(row["rank"] for row in clicks)
    assert facts.queries == len(counts)
    assert facts.seldom == sum(n for n in counts.values() if n < OFTEN)
    assert facts.test_searches == sum(row["split"] == "test" for row in searches)
    assert facts.tested == sum(row["split"] == "test" and row["search"] in clicked for row in searches)
    assert facts.users == 60
    assert (facts.shift, facts.mismatched, facts.times, facts.judged) == (None, 0, None, False)


QUERIES = ("a", "ab", "abc", "abd", "b", "ba")
READING = np.array([0.9, 0.5, 0.4])
chances = st.floats(0, 0.9)


@st.composite
def replays(draw: st.DrawFn) -> tuple[Sessions, list[Shown]]:
    """Sessions that type some queries, and two policies with lists of at most three suggestions."""
    typed = draw(st.lists(st.sampled_from(QUERIES), min_size=1, max_size=6))
    keystrokes = Keystrokes.of(typed)
    intended = np.array([QUERIES.index(one) for one in typed])
    own = np.array([draw(chances) for _ in typed])
    contexts = from_prefixes(keystrokes.texts)
    sessions = Sessions(np.arange(len(typed)), intended, own, keystrokes, contexts)
    numbers = st.lists(st.integers(0, len(QUERIES) - 1), max_size=3, unique=True)
    shown = []
    for _ in range(2):
        lists = [draw(numbers) for _ in keystrokes.texts]
        values = np.array([one for listed in lists for one in listed], np.int32)
        offsets = np.r_[0, np.cumsum([len(listed) for listed in lists])].astype(np.int64)
        slots = Slots.of(keystrokes, Lists(CompressedRows(offsets, values), np.ones(len(values), bool)))
        count = len(slots.suggested)
        utility, accepted = (np.array([draw(chances) for _ in range(count)]) for _ in range(2))
        shown.append(Shown(slots, utility, accepted))
    return sessions, shown


def slow(sessions: Sessions, shown: Shown) -> list[dict[str, tuple[float, float, float]]]:
    """By session: text → taken, found beyond typing on, characters saved, by those who come there."""
    keystrokes, slots = sessions.keystrokes, shown.slots
    found = []
    for s in range(len(sessions.search)):
        of_text: dict[str, tuple[float, float, float]] = {}
        for n in range(keystrokes.offsets[s], keystrokes.offsets[s + 1]):
            left, taken, gained, saved = 1.0, 0.0, 0.0, 0.0
            for slot in np.flatnonzero(slots.keystroke == n).tolist():
                own = slots.suggested[slot] == sessions.intended[s]
                takes = left * READING[slots.position[slot]] * (1.0 if own else shown.accepted[slot])
                taken, left = taken + takes, left - takes
                gained += takes * (shown.utility[slot] - sessions.own[s])
                saved += takes * (keystrokes.length[s] - keystrokes.typed[n])
            of_text[keystrokes.texts[keystrokes.text[n]]] = taken, gained, saved
        found.append(of_text)
    return found


@given(replays())
def test_gains_are_those_of_the_slow_reference(given: tuple[Sessions, list[Shown]]) -> None:
    sessions, (one, other) = given
    ours, popular = slow(sessions, one), slow(sessions, other)
    steps = [Steps.of(shown, sessions, READING) for shown in (one, other)]
    found = gains_of(sessions, steps[0], steps[1], sessions.keystrokes.texts, 0.7)
    listed = [
        {text: lists.get(n, ()) for n, text in enumerate(sessions.keystrokes.texts)}
        for lists in (step.lists for step in steps)
    ]
    mean = max(sessions.own.mean(), 1e-12)
    group = dict[str, str]()
    sums = defaultdict[str, dict[int, list[float]]](dict)
    for text in sorted(sessions.keystrokes.texts):
        if listed[0][text] != listed[1][text]:
            shorter = next((text[:n] for n in range(len(text) - 1, 0, -1) if text[:n] in group), None)
            same = shorter is not None and all(lists[text] == lists[shorter] for lists in listed)
            group[text] = group[shorter] if same and shorter is not None else text
    for s, (mine, theirs) in enumerate(zip(ours, popular, strict=True)):
        reach = 1.0
        for text in sorted(mine, key=len):
            if text in group:
                so_far = sums[group[text]].setdefault(s, [0.0, 0.0, 0.0])
                gained, saved = (reach * (mine[text][part] - theirs[text][part]) for part in (1, 2))
                so_far[0] += gained / mean
                so_far[1] += saved
                so_far[2] += gained / mean + 0.7 * saved / sessions.keystrokes.length[s]
            reach *= 1 - mine[text][0]
    names = sorted(sums)
    net = [value[2] for name in names for value in sums[name].values()]
    factor = shrinkage(np.array(net), np.repeat(np.arange(len(names)), [len(sums[name]) for name in names]))
    expected = {
        name: (
            len(sums[name]),
            *(sum(column) * factor[n] * PER / len(ours) for column in zip(*sums[name].values(), strict=True)),
        )
        for n, name in enumerate(names)
    }
    assert {g.text: (g.searches, g.found, g.characters, g.net) for g in found.gains} == {
        name: pytest.approx(values, abs=1e-6, rel=1e-6) for name, values in expected.items()
    }
    assert [g.net for g in found.gains] == sorted((g.net for g in found.gains), reverse=True)


def test_means_of_few_searches_are_shrunk_by_as_much_as_makes_the_error_least() -> None:
    """With true means drawn from N(0, τ²), the shrunk means have the mean squared error of the best factor."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(2, 40, 4000)
    group = np.repeat(np.arange(len(sizes)), sizes)
    truth = rng.normal(0, 0.5, len(sizes))
    values = truth[group] + rng.normal(0, 2.0, len(group))
    mean = np.bincount(group, values) / sizes
    best = sizes / (sizes + 2.0**2 / 0.5**2)
    error, least = (np.mean((factor * mean - truth) ** 2) for factor in (shrinkage(values, group), best))
    assert error < 1.01 * least
    assert least < 0.4 * np.mean((mean - truth) ** 2)


def test_the_texts_begin_queries_that_may_be_shown_and_are_typed_often_enough(
    workspace: Workspace, served: Served
) -> None:
    found = text_gains(workspace, served)
    rows = tables.read(workspace.folder("rankings"), "numbered_searches").to_pylist()
    tested = [row["text"] for row in rows if row["split"] == "test"]
    typed = Counter(text[:end] for text in tested for end in cut_ends(text))
    allowed = {text[:end] for text in QUERIES_SHOWN for end in cut_ends(text)}
    assert found.searches == len(tested)
    assert found.texts == sum(n >= LEAST and text in allowed for text, n in typed.items())
    assert typed[normalise(SECRET)[:3]] >= LEAST  # would be named if it were not withheld
    assert found.gains
    for gain in found.gains:
        assert gain.text in allowed
        assert gain.searches == typed[gain.text] >= LEAST


def test_the_page_names_nothing_withheld(workspace: Workspace, tmp_path: Path) -> None:
    out = tmp_path / "new" / "report.html"
    write(workspace, out)
    page = out.read_text(encoding="utf-8")
    body = page.lower().split("</style>")[1]
    for query in WITHHELD:
        for word in normalise(query).split():
            assert word in ("lamp", "lantern", "example", "org") or word not in body
    assert "zeb" not in page
    assert "ann@" not in page
    assert TITLES["d00"] not in page
    shown = Page(page).texts
    assert TITLES["d00"] in shown
    assert any("too few users searched" in text for text in shown)
    assert any("block list" in text for text in shown)


def test_a_folder_or_a_file_without_an_ab_test_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    with pytest.raises(WaywordError, match="is a folder; expected the name of a file"):
        write(workspace, tmp_path)
    (tmp_path / "ubi.json").write_text("[]")
    with pytest.raises(WaywordError, match="Expected what `wayword ubi … --json` prints"):
        write(workspace, tmp_path / "r.html", ubi=tmp_path / "ubi.json")
    assert not (tmp_path / "r.html").exists()
