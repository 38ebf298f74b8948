"""What is served is what was evaluated, whatever is typed, and follows what changes on disk."""

import json
import logging
import re
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from odd_texts import ODD

from runs import Made
from wayword.completion.completion import Completion
from wayword.completion.popular import popularity
from wayword.completion.suggested_queries import HIDDEN
from wayword.config import Config, IndexConfig
from wayword.engines import tables
from wayword.errors import WaywordError, WorkspaceError
from wayword.index import block_list, versions
from wayword.index.build import build
from wayword.index.index import Index
from wayword.index.overrides import FILE, Overrides
from wayword.logs import contexts_stage as contexts
from wayword.logs.splits import SPLITS
from wayword.pipeline import load_policies, run
from wayword.request import MODES
from wayword.serving.completer import Completer, as_typed
from wayword.serving.explanation import Unknown, explain
from wayword.serving.policy_completer import PolicyCompleter
from wayword.simulation.simulate import simulate
from wayword.store.artefact import report_of
from wayword.store.workspace import Workspace
from wayword.text import normalise


@pytest.fixture
def copied(undisturbed: Made, tmp_path: Path) -> Path:
    return undisturbed.copy(tmp_path / "workspace")


def _served(path: Path) -> Completer:
    """One that looks at the disk whenever it is asked."""
    found = Completer.open(path)
    found._next_look = 0.0
    return found


@pytest.mark.parametrize("mode", MODES)
def test_known_or_not_the_answer_is_that_of_the_policy(mode: str, undisturbed: Made) -> None:
    workspace = Workspace.open(undisturbed.path)
    texts = tables.read(workspace.folder("rankings"), "queries")["text"].to_pylist()
    typed = sorted(
        {text[:end] for text in texts[::7] for end in range(1, len(text) + 1, 3)} | set(texts[::5])
    )
    typed += [text[:4] + text[5:9] for text in texts[::40]] + ["zzzz qqqq", "player zzz", *ODD]
    served, policy = Completer.open(undisturbed.path), PolicyCompleter.open(workspace, load_policies)
    known = 0
    for prefix, expected in zip(typed, policy.complete_many(typed, 10, mode=mode), strict=True):
        assert served.complete(prefix, 10, mode=mode) == expected, prefix
        known += normalise(prefix) in served.index.lists
    assert 300 < known < len(typed) - 20


@pytest.mark.parametrize("k", [1, 3, 11, 15, 16, 40])
def test_any_length_of_list(k: int, undisturbed: Made) -> None:
    served, policy = Completer.open(undisturbed.path), PolicyCompleter.open(undisturbed.path, load_policies)
    for prefix in ("v", "vi", "video", "m", "mail c", "x"):
        assert served.complete(prefix, k) == policy.complete(prefix, k)


def test_every_beginning_of_every_query_is_known(undisturbed: Made) -> None:
    workspace = Workspace.open(undisturbed.path)
    texts = tables.read(workspace.folder("rankings"), "queries")["text"].to_pylist()
    lists = Completer.open(undisturbed.path).index.lists
    assert all(text[:end].rstrip() in lists for text in texts for end in range(1, len(text) + 1))


def test_known_texts_are_in_their_normal_form(undisturbed: Made) -> None:
    """So that a text that is a key need not be normalised."""
    known = Completer.open(undisturbed.path).index.lists.keys()
    assert all(as_typed(key) == key for key in known if key.isprintable())


def test_texts_are_normalised_before_they_are_looked_up(undisturbed: Made) -> None:
    served = Completer.open(undisturbed.path)
    expected = served.complete("video pl", 10)
    for typed in ("Video  PL", " video pl", "video-pl", "vid\u200beo pl", "video\x1fpl"):
        assert served.complete(typed, 10) == expected


def test_contexts_of_the_log_have_lists_of_their_own(tmp_path: Path) -> None:
    """In which part of the archive people look says much of what they want."""
    data = simulate("packages", clicks=8000, depth=10, part=0.95, out=tmp_path / "data")
    config = Config.parse(
        {
            "retriever": {"model": "popular"},
            "ranker": {"rounds": 2, "max_contexts": 50},
            "index": {"min_searches": 1},
        }
    )
    workspace = run(data / "clicks.parquet", data / "rankings.parquet", out=tmp_path / "w", config=config)
    served, policy = Completer.open(workspace), PolicyCompleter.open(workspace, load_policies)
    columns = served.index.columns
    assert list(columns.values) == ["part"]
    logged = contexts.load(workspace.folder("contexts")).to_pylist()
    for row in [*logged[::50], {"prefix": "vidoe", "part": "games"}, {"prefix": "vi", "part": "elsewhere"}]:
        context = {"part": row["part"]}
        assert served.complete(row["prefix"], context=context) == policy.complete(
            row["prefix"], context=context
        )
    assert all(columns.key(row["prefix"], row) in served.index.lists for row in logged)
    assert columns.key("zzz", {"part": "games"}) not in served.index.lists
    assert served.complete("p", context={"part": "games"}) != served.complete(
        "p", context={"part": "science"}
    )


# --- decided by hand


def test_a_denied_query_leaves_no_hole_and_comes_back(copied: Path) -> None:
    served = _served(copied)
    before = served.complete("vi", 10)
    Overrides.parse({"deny": [before[0].query.upper(), before[3].query]}).save(copied / "index")
    served._next_look = 0.0
    after = served.complete("vi", 10)
    rest = [c for c in served.complete("vi", 15) if c.query not in (before[0].query, before[3].query)]
    assert after == rest[:10]
    assert [c for c in before if c.query not in (before[0].query, before[3].query)] == after[
        : len(before) - 2
    ]
    (copied / "index" / FILE).unlink()
    served._next_look = 0.0
    assert served.complete("vi", 10) == before


def test_denying_more_than_a_list_has_to_spare_is_answered_live(copied: Path) -> None:
    served = _served(copied)
    wide = served.complete("v", 40)
    Overrides.parse({"deny": [c.query for c in wide[:20]]}).save(copied / "index")
    served._next_look = 0.0
    assert served.complete("v", 10) == wide[20:30]
    assert (
        served.complete("vidoe", 10)
        == [c for c in _served_without(copied, "vidoe") if c not in wide[:20]][:10]
    )


def _served_without(copied: Path, prefix: str) -> list[Completion]:
    hidden = Overrides.load(copied / "index").deny
    return [
        c for c in PolicyCompleter.open(copied, load_policies).complete(prefix, 60) if c.query not in hidden
    ]


def test_pinned_queries_come_first_even_where_nothing_is_known(copied: Path) -> None:
    served = _served(copied)
    before = served.complete("vi", 5)
    pins = {"Vi": ["Black Friday", before[2].query], "zzzzqqq 77": ["Sale"]}
    Overrides.parse({"pin": pins}).save(copied / "index")
    served._next_look = 0.0
    found = served.complete("vi", 5)
    assert [c.query for c in found] == [
        "Black Friday",
        before[2].query,
        *(before[n].query for n in (0, 1, 3)),
    ]
    assert found[0].source == "pinned"
    assert served.complete("zzzzqqq 77", 1)[0].query == "Sale"


def test_a_deleted_query_is_in_no_file_of_the_next_index(copied: Path) -> None:
    served = _served(copied)
    texts = tables.read(Workspace.open(copied).folder("rankings"), "queries")["text"].to_pylist()
    gone = next(c.query for c in served.complete("vi", 10) if sum(c.query in text for text in texts) == 1)
    assert _mentions(copied, gone)
    Overrides.parse({"delete": [gone]}).save(copied / "index")
    served._next_look = 0.0
    assert gone not in [c.query for c in served.complete("vi", 10)]
    build(Workspace.open(copied), IndexConfig())
    served._next_look = 0.0
    assert not _mentions(copied, gone)
    assert gone not in [c.query for c in served.complete(gone[:-1], 10)]
    assert served.complete("vi", 10)


CHECKED = re.compile(rb'"(?:bytes|sha256)": [^,\n]+')
"""Sizes and checksums of the receipt `artefact.json`: one in 25 indexes has four given digits in a checksum."""


def _mentions(path: Path, text: str) -> list[str]:
    folder = versions.current(path / "index")
    code_points = np.array([*map(ord, text)], np.int32).tobytes()
    contents = {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    receipt = str(folder / "artefact.json")
    contents[receipt] = CHECKED.sub(b"", contents[receipt])
    return [file for file, held in contents.items() if text.encode() in held or code_points in held]


# --- what may be shown


def test_a_blocked_word_hides_its_queries_within_a_look_and_shows_them_again(copied: Path) -> None:
    served, root = _served(copied), copied / "index"
    before = served.complete("vi", 10)
    word = normalise(before[0].query).split()[0]
    assert sum(word in normalise(one.query).split() for one in before) > 0
    Overrides.parse({"pin": {"vi": [f"{word} pinned", "pinned"]}}).save(root)
    (root / block_list.FILE).write_text(f"# not nice\n{word.upper()}\n", encoding="utf-8")
    served._next_look = 0.0
    after = served.complete("vi", 10)
    assert after[0].query == "pinned"
    assert not [one.query for one in after if word in normalise(one.query).split()]
    for mode in MODES:  # known texts, unknown ones, most popular completion
        for list_of in (served.served.complete, served.served.popular):
            found = list_of(f"{word[:3]}x"[:3], 20, mode=mode)
            assert not [one.query for one in found if word in normalise(one.query).split()]
    (root / block_list.FILE).write_text("/(/\n")
    served._next_look = 0.0
    assert served.complete("vi", 10) == after
    assert any("regular expression" in problem for problem in served.problems)
    (root / FILE).unlink()
    (root / block_list.FILE).unlink()
    served._next_look = 0.0
    assert served.complete("vi", 10) == before
    assert served.problems == []


def test_the_block_list_of_the_settings_is_followed_while_serving(copied: Path, tmp_path: Path) -> None:
    workspace = Workspace.open(copied)
    first = Completer.open(copied).complete("vi", 10)[0].query
    file = tmp_path / "block.txt"
    file.write_text("nothing of the kind\n")
    build(workspace, IndexConfig(block=str(file)))
    served = _served(copied)
    assert served.complete("vi", 10)[0].query == first
    file.write_text(f"/^{normalise(first)}$/\n")
    served._next_look = 0.0
    assert first not in [one.query for one in served.complete("vi", 10)]
    folder, made = build(workspace, IndexConfig(block=str(file)))
    assert made
    assert report_of(folder)["withheld: blocked"] == 1
    with pytest.raises(WaywordError, match="There is no block list"):
        build(workspace, IndexConfig(block=str(tmp_path / "none")))


def test_the_english_block_list_is_followed_by_its_name(copied: Path) -> None:
    pinned = {"pin": {"vi": ["Video Shit", "video shop"]}}
    Overrides.parse(pinned).save(copied / "index")
    build(Workspace.open(copied), IndexConfig(block="english"))
    served = _served(copied)
    assert served.index.about["block"] == "english"
    assert served.complete("vi", 3)[0].query == "video shop"


@pytest.mark.parametrize(
    "setting", [{"min_searches": 4}, {"min_results": 8}, {"min_searches": 3, "min_results": 5}]
)
def test_what_is_searched_seldom_or_finds_little_is_learned_from_but_not_shown(
    setting: dict[str, Any], copied: Path
) -> None:
    workspace = Workspace.open(copied)
    before = Completer.open(copied)
    known = {typed for typed, _ in before.served.known()}
    folder, _ = build(workspace, IndexConfig(**setting))
    served = Completer.open(copied)
    assert {typed for typed, _ in served.served.known()} == known  # beginnings of all queries are understood
    queries = tables.read(workspace.folder("rankings"), "queries")
    searched = popularity(workspace.folder("rankings"), *SPLITS)
    returned = np.bincount(
        tables.read(workspace.folder("rankings"), "rankings")["query"].to_numpy(), minlength=len(searched)
    )
    few = (searched > 0) & (searched < setting.get("min_searches", 0))
    few |= (returned > 0) & (returned < setting.get("min_results", 0))
    hidden = {queries["text"][int(number)].as_py() for number in np.flatnonzero(few)}
    assert (
        sum(n for name, n in report_of(folder).items() if name.startswith("withheld: ")) == len(hidden) > 20
    )
    shown = set()
    for typed in [*sorted(known)[::25], "vidoe", "zz", "plaver"]:
        for mode in MODES:
            for list_of in (served.complete, served.served.popular):
                shown |= {normalise(one.query) for one in list_of(typed, 15, mode=mode)}
    assert shown
    assert not shown & hidden


# --- what changes on disk


def test_a_new_version_is_taken_over_and_the_old_one_can_come_back(copied: Path, earlier: Made) -> None:
    served = _served(copied)
    before = served.complete("vi", 10)
    first = served.index.version
    other = Workspace.open(earlier.path)
    shutil.copytree(versions.current(earlier.path / "index"), copied / "index" / "0123456789abcdef")
    versions.point(copied / "index", "0123456789abcdef")
    served._next_look = 0.0
    assert served.complete("vi", 10) == PolicyCompleter.open(other, load_policies).complete("vi", 10)
    assert served.index.version == "0123456789abcdef"
    versions.point(copied / "index", first)
    served._next_look = 0.0
    assert served.complete("vi", 10) == before


TOLD_APART = "m"
"""A text whose lists differ between the two versions."""


def test_no_answer_mixes_two_versions(copied: Path, earlier: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """The two number queries differently. What is denied is shown by no thread, however often they are swapped."""
    monkeypatch.setattr("wayword.serving.completer.LOOK_EVERY", 0.0)
    root = copied / "index"
    one, other = versions.current(root).name, "0123456789abcdef"
    shutil.copytree(versions.current(earlier.path / "index"), root / other)
    expected = {}
    for name in (one, other):
        versions.point(root, name)
        expected[name] = Completer.open(copied).complete(TOLD_APART, 15)
    denied = {found[0].query for found in expected.values()}
    Overrides.parse({"deny": sorted(denied)}).save(root)
    served, until, answers = Completer.open(copied), time.monotonic() + 4.0, list[set[str]]()

    def ask() -> None:
        while time.monotonic() < until:
            answers.append({c.query for c in served.complete(TOLD_APART, 10)})

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    while time.monotonic() < until:
        versions.point(root, one if served.index.version == other else other)
        time.sleep(0.05)
    for thread in threads:
        thread.join()
    left = [[c.query for c in found if c.query not in denied][:10] for found in expected.values()]
    whole = set(map(frozenset, left))
    assert {frozenset(answer) for answer in answers} == whole
    assert len(whole) == 2


def test_what_is_decided_by_hand_does_not_wait_for_a_whole_index(copied: Path) -> None:
    other, _ = build(Workspace.open(copied), IndexConfig(kept=13))
    build(Workspace.open(copied), IndexConfig())
    served, root = _served(copied), copied / "index"
    first = served.complete("vi", 1)[0].query
    (root / versions.CURRENT).write_text("0123456789abcdef")
    Overrides.parse({"deny": [first]}).save(root)
    served._next_look = 0.0
    assert served.complete("vi", 1)[0].query != first
    (root / FILE).write_text("{oops")
    versions.point(root, other.name)
    served._next_look = 0.0
    assert served.complete("vi", 1)[0].query != first
    assert served.index.version == other.name


def test_what_could_not_be_read_is_tried_again(copied: Path, caplog: pytest.LogCaptureFixture) -> None:
    served, root = _served(copied), copied / "index"
    new = shutil.copytree(versions.current(root), root / "0123456789abcdef")
    (new / "records_any").rename(tmp := root / "records_any")
    (root / versions.CURRENT).write_text(new.name)
    with caplog.at_level(logging.WARNING, "wayword"):
        for _ in range(3):
            served._next_look = 0.0
            served.complete("vi")
    assert len(caplog.records) == 1
    tmp.rename(new / "records_any")
    served._next_look = served._index._again = 0.0
    assert served.complete("vi")
    assert served.index.version == new.name


@pytest.mark.parametrize("harm", ["cut", "flipped", "extra", "gone", "pointer", "overrides"])
def test_what_is_damaged_is_refused_and_what_was_there_answers(
    harm: str, copied: Path, caplog: pytest.LogCaptureFixture
) -> None:
    served = _served(copied)
    before, root = served.complete("vi", 10), copied / "index"
    bad = shutil.copytree(versions.current(root), root / "0123456789abcdef")
    file = bad / "records_any"
    if harm == "cut":
        file.write_bytes(file.read_bytes()[:-1])
    elif harm == "flipped":
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
    elif harm == "extra":
        (bad / "more.npy").write_bytes(b"")
    elif harm == "gone":
        file.unlink()
    if harm == "overrides":
        (root / FILE).write_text('{"deny": "everything"}')
    else:
        (root / versions.CURRENT).write_text("../../etc" if harm == "pointer" else bad.name)
    served._next_look = 0.0
    with caplog.at_level(logging.WARNING, "wayword"):
        assert served.complete("vi", 10) == before
        served._next_look = 0.0
        assert served.complete("vi", 10) == before
    assert len(caplog.records) == 1
    with pytest.raises(
        WaywordError,
        match={"pointer": "expected the name", "overrides": "list of texts"}.get(harm, "damaged"),
    ):
        Completer.open(copied)


def test_a_version_is_made_once_and_old_ones_are_removed(copied: Path) -> None:
    workspace = Workspace.open(copied)
    folder, made = build(workspace, IndexConfig())
    assert not made
    names = [build(workspace, IndexConfig(kept=kept, versions=2))[0].name for kept in (11, 12, 13)]
    assert versions.versions(copied / "index") == names[1:]
    assert versions.current(copied / "index").name == names[-1]
    assert len({folder.name, *names}) == 4


def test_a_pointer_that_says_nothing_is_set_again(copied: Path) -> None:
    root = copied / "index"
    name = versions.current(root).name
    for said in (b"garbage", b"", b"\xff\xfe", b"0123456789abcdef"):
        (root / versions.CURRENT).write_bytes(said)
        assert not build(Workspace.open(copied), IndexConfig())[1]
        assert versions.current(root).name == name


def test_the_same_workspace_gives_the_same_bytes(copied: Path, undisturbed: Made) -> None:
    root = copied / "index"
    shutil.rmtree(root)
    folder, made = build(Workspace.open(copied), Config().index)
    assert made
    receipt = (folder / "artefact.json").read_text()
    assert receipt == (versions.current(undisturbed.path / "index") / "artefact.json").read_text()


# --- withheld


OWN = {"video of my dog rex": "alone", "ann.lee@example.org video": "", "video 4111 1111 1111 1111": ""}
SECRETS = ("ann lee@", "4111", "bob ray@")


@pytest.mark.parametrize("column", ["context", "recorded"])
def test_queries_of_few_people_and_private_ones_are_withheld(
    column: str, world: Path, tmp_path: Path
) -> None:
    """One query is typed by one person only, two are nobody's business; no file holds even their beginnings."""
    if column == "context":
        world = simulate("packages", clicks=8000, depth=10, part=0.95, out=tmp_path / "data")
    clicks = pq.read_table(world / "clicks.parquet").to_pylist()
    rankings = pq.read_table(world / "rankings.parquet").to_pylist()
    pages = [row for row in rankings if row["query"] == clicks[0]["query"]]
    for query, user in OWN.items():
        rankings += [{**row, "query": query} for row in pages]
        more = [{**clicks[0], "query": query, "user": user or f"u{n}"} for n in range(30)]
        clicks += [{**row, "search_id": 10**9 + 1000 * ord(query[-1]) + n} for n, row in enumerate(more)]
    for number, row in enumerate(clicks):
        row.setdefault("user", f"u{number % 50}")
        if column == "recorded" and number % 9 == 0:
            row["prefix"] = "bob.ray@example.com" if number % 2 else row["query"][:3]
    pq.write_table(_table(clicks), tmp_path / "clicks.parquet")
    pq.write_table(_table(rankings), tmp_path / "rankings.parquet")
    config = Config.parse({"retriever": {"model": "popular"}, "ranker": {"rounds": 2, "max_contexts": 50}})
    workspace = run(
        tmp_path / "clicks.parquet", tmp_path / "rankings.parquet", out=tmp_path / "w", config=config
    )
    assert [*Completer.open(workspace).index.columns.values] == (["part"] if column == "context" else [])
    assert "video of my dog rex" in _shown(workspace)
    assert not _shown(workspace) & {"ann.lee@example.org video", "video 4111 1111 1111 1111"}
    assert [file for secret in SECRETS for file in _mentions(workspace.path, secret)] == []
    build(workspace, IndexConfig(min_searches=1, min_results=2))
    assert [file for secret in SECRETS for file in _mentions(workspace.path, secret)] == []
    build(workspace, IndexConfig(min_users=3, min_searches=2))
    assert _shown(workspace)
    assert "video of my dog rex" not in _shown(workspace)
    served = Completer.open(workspace).served
    assert not [typed for typed, _ in served.known() if "my dog" in typed]
    assert not [rare for rare in ("my dog", "dog rex") if _mentions(workspace.path, rare)]
    for asked in ("video of my dog rex", "no such query"):  # nobody can tell them apart
        with pytest.raises(Unknown, match=asked):
            explain(served, "v", asked)
    assert served.complete("video of my dog", 5) == served.complete("video of my dox", 5)


VARIANTS = {"lamp red": 90, "red lamp": 40, "red shoe": 40, "blue shoe": 40}
"""Queries and their searches; the first two are one suggestion."""


def _variants(folder: Path, alone: str = "", without_results: str = "") -> Workspace:
    """A log in which one user only searched for the query `alone`, and the engine returns nothing for another."""
    rankings = [
        {"query": query, "document": f"{query.replace('red', '').strip()} {(shift + rank) % 4}", "rank": rank}
        for shift, query in enumerate(VARIANTS)
        for rank in range(1, 5)
        if query != without_results
    ]
    clicks = [
        {"search_id": f"{query} {n}", "user": "ann" if query == alone else f"u{n % 20}", **page[n % 4]}
        for query, searches in VARIANTS.items()
        if (page := [row for row in rankings if row["query"] == query])
        for n in range(searches)
    ]
    clicks += [
        {"search_id": f"{without_results} {n}", "user": f"u{n % 20}", "query": without_results}
        for n in range(VARIANTS.get(without_results, 0))
    ]
    for rows, name in ((rankings, "rankings"), (clicks, "clicks")):
        pq.write_table(_table(rows), folder / f"{name}.parquet")
    config = Config.parse({"evaluation": {"bootstrap": 10, "sessions": 10}, "index": {"min_users": 2}})
    return run(
        folder / "clicks.parquet", folder / "rankings.parquet", out=folder / "w", config=config, lenient=True
    )


def _row(index: Index, text: str, name: str) -> int:
    """The number of entries that a file of the stored policy has about a query."""
    number = sorted(VARIANTS).index(text)
    offsets = np.load(next((index._folder / "live").glob(f"{name}*offsets*.npy")))
    return int(offsets[number + 1] - offsets[number])


def test_a_withheld_variant_is_in_no_list_and_cannot_be_recovered(tmp_path: Path) -> None:
    workspace = _variants(tmp_path, alone="red lamp")
    completer = Completer.open(workspace)
    for typed in ("r", "red", "red l", "lamp", "blue", "lmap", "zzz"):
        for mode in MODES:
            assert {c.query for c in completer.complete(typed, mode=mode)} <= {*VARIANTS} - {"red lamp"}
    assert [c.query for c in completer.complete("red", mode="prefix")] == ["red shoe"]
    assert _mentions(workspace.path, "red lamp") == []
    for name in ("word_forms", "pages"):
        assert _row(completer.index, "red lamp", name) == 0
        assert _row(completer.index, "lamp red", name) > 0
    live = completer.index._folder / "live"
    number = sorted(VARIANTS).index("red lamp")
    assert np.load(live / "shown_as.npy")[number] == HIDDEN
    assert np.load(live / "group.npy").tolist().count(number) == 1  # no variant of it is known
    assert set(json.loads((live / "acceptance.json").read_text())) == {
        "coefficients",
        "reading",
        "careless",
        "strict",
        "kept",
        "contrast",
        "uncertain",
    }
    assert set(json.loads((live / "list_policy.json").read_text())) == {"keystroke_value"}


def test_a_variant_that_finds_nothing_is_not_the_one_that_is_shown(tmp_path: Path) -> None:
    completer = Completer.open(_variants(tmp_path, without_results="lamp red"))
    for typed in ("r", "red", "lamp"):
        for mode in MODES:
            assert "" not in {c.query for c in completer.complete(typed, mode=mode)}
    assert "red lamp" in {c.query for c in completer.complete("r")}


def _shown(workspace: Workspace) -> set[str]:
    completer = Completer.open(workspace)
    return {c.query for prefix in ("video", "v", "ann", "bob") for c in completer.complete(prefix, 1000)}


def _table(rows: list[dict[str, object]]) -> pa.Table:
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pa.table({name: [row.get(name) for row in rows] for name in names})


# --- refusals


@pytest.mark.parametrize(
    "given", [{"k": 0}, {"k": 1001}, {"k": 2.5}, {"k": "3"}, {"mode": "near"}, {"mode": None}]
)
def test_bad_questions_are_refused(given: dict[str, object], undisturbed: Made) -> None:
    with pytest.raises(WaywordError, match="expected"):
        Completer.open(undisturbed.path).complete("v", **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [None, 7, b"v", ["v"]])
def test_what_is_no_text_is_refused(given: Any, undisturbed: Made) -> None:
    for completer in (Completer.open(undisturbed.path), PolicyCompleter.open(undisturbed.path)):
        with pytest.raises(WaywordError, match=r"Found the prefix .*; expected text\."):
            completer.complete(given)


def test_a_folder_without_an_index_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="wayword index"):
        Completer.open(tmp_path)


@pytest.mark.parametrize(
    "given", ["[]", '{"deny": "x"}', '{"allow": []}', '{"pin": []}', '{"pin": {"a": "b"}}', "{"]
)
def test_overrides_that_cannot_be_meant_are_refused(given: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(given)
    with pytest.raises(WaywordError):
        Overrides.load(tmp_path)


def test_what_is_hidden_cannot_be_pinned_and_pins_come_once() -> None:
    pins = {"Vid": ["A b", "a  B!", "", "gone", "c\ud800"], "vid": ["D", "away"]}
    found = Overrides.parse({"deny": ["Gone"], "delete": ["away"], "pin": pins})
    assert found.pin == {"vid": ("A b", "c?", "D")}


def test_a_long_mistake_is_told_briefly() -> None:
    with pytest.raises(WaywordError) as refused:
        Overrides.parse({"deny": ["x" * 100] * 10_000 + [1]})
    assert len(str(refused.value)) < 500


def test_overrides_survive_being_saved(tmp_path: Path) -> None:
    given = Overrides.parse({"deny": ["TV"], "delete": ["b"], "pin": {"Ü": ["Ärger", "x"]}})
    given.save(tmp_path)
    assert Overrides.load(tmp_path) == given
    assert json.loads((tmp_path / FILE).read_text())["pin"] == {"ü": ["Ärger", "x"]}
