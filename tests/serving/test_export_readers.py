"""What Lucene suggests from an exported file is what is served, in its order.

Lucene completes in Elasticsearch, OpenSearch and Solr. More is asked for than a list has, so that it is seen to hold
nothing of another.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from lucene_reader import suggested

from runs import Made
from shop import make_world, open_shop, with_parts
from wayword.completion.completion import Completion
from wayword.index.overrides import Overrides
from wayword.progress import Progress
from wayword.serving.completer import Completer, Served
from wayword.serving.export import FORMS, LONGEST, Entry, entries, export

pytestmark = pytest.mark.lucene
READ = ["elasticsearch", "solr"]
"""The forms; that for OpenSearch is the first."""
K = 10


def _entry(typed: str, queries: Sequence[str], **context: str) -> Entry:
    return Entry(typed, context, [Completion(query, 1.0, "pinned") for query in queries], ("shop", "device"))


def _queries(entry: Entry) -> list[str]:
    return [one.query for one in entry.completions]


def _finds_its_lists(form: str, served: Served, folder: Path) -> list[Entry]:
    written = export(served, folder / "lists", form, k=K)
    known = list(entries(served, K, "any", 1, Progress()))
    found = suggested(form, folder / "lists", [entry.key for entry in known], 3 * K)
    assert len(known) == len(found) == written
    for entry, queries in zip(known, found, strict=True):
        assert queries == _queries(entry), entry.key
    return known


@pytest.mark.parametrize("form", READ)
def test_every_text_finds_its_list(form: str, undisturbed: Made, tmp_path: Path) -> None:
    path = undisturbed.copy(tmp_path / "workspace")
    pinned = ['Sale "now" \\ 5€', "größte Auswahl", "テレビ", "👩‍🚀 moon", "مرحبا", "100% c#; & more"]
    Overrides.parse({"pin": {"vi": pinned, "テ": pinned[::-1], "x" * 200: pinned}}).save(path / "index")
    known = _finds_its_lists(form, Completer.open(path).served, tmp_path)
    assert len(known) > 500
    assert max(len(entry.completions) for entry in known) == K


@pytest.mark.parametrize("form", READ)
def test_every_context_finds_its_list(form: str, tmp_path: Path) -> None:
    shop = open_shop(tmp_path / "shop", with_parts(make_world()), part=0.95)
    known = _finds_its_lists(form, Completer.open(shop.workspace).served, tmp_path)
    assert {*map(str, (entry.context for entry in known))} > {"{}", "{'part': 'home'}"}


@pytest.mark.parametrize("form", READ)
def test_odd_texts_and_values(form: str, tmp_path: Path) -> None:
    queries = [f"query {n}" for n in range(20)]
    made = {
        "tv;;;": _entry("tv", queries),
        "tv;de;;": _entry("tv", queries[3:], shop="de"),
        "tv;de%3Bfr;;": _entry("tv", queries[::-1], shop="de;fr"),
        "tv;de;fr;": _entry("tv", queries[::2], shop="de", device="fr"),
        "tv;;a b c d;": _entry("tv", queries[1::2], device="a\tb\r\nc\x1f\x1e\0d\x85"),
        "%3B;;;": _entry(";", queries[:4]),
        "%3B%3B;;;": _entry(";;", queries[4:]),
        "# %;;;": _entry("# %", ["# 5", "\ue000 \U0010ffff", "\u200d"]),
    }
    assert _read(form, made.values(), tmp_path, made) == [_queries(entry) for entry in made.values()]


@pytest.mark.parametrize("form", READ)
def test_what_is_too_long_for_lucene_is_left_out(form: str, tmp_path: Path) -> None:
    """It would refuse it, and in Solr the whole file."""
    fits, too_long = _entry("é" * 497, ["no"]), _entry("é" * 499, ["no"])
    queries = ["x" * LONGEST, "lamp"]
    found = _read(form, [fits, too_long, _entry("tv", queries)], tmp_path, [fits.key, "é" * 497, "tv;;;"])
    assert found == [["no"], ["no"], queries if form == "elasticsearch" else ["lamp"]]


def _read(form: str, made: Iterable[Entry], folder: Path, keys: Iterable[str]) -> list[list[str]]:
    lines = [f"{line}\n" for entry in made for line in FORMS[form](entry)]
    (folder / "lists").write_text("".join(lines), encoding="utf-8")
    return suggested(form, folder / "lists", keys, 3 * K)
