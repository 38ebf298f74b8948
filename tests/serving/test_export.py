"""Exported files hold what is served, in its order."""

import json
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import wayword
from runs import Made
from wayword.completion.completion import Completion
from wayword.errors import WaywordError
from wayword.index.overrides import Overrides
from wayword.serving.completer import Completer, Served
from wayword.serving.export import FORMS, Entry, export


@pytest.fixture
def completer(undisturbed: Made, tmp_path: Path) -> Served:
    path = undisturbed.copy(tmp_path / "workspace")
    denied = Completer.open(path).complete("vi", 1)[0].query
    Overrides.parse({"deny": [denied], "pin": {"zz top": ['Sale "now"']}}).save(path / "index")
    return Completer.open(path).served


def test_json_lines_are_what_is_served(completer: Served, tmp_path: Path) -> None:
    written = export(completer, tmp_path / "lists", "jsonl", k=5, mode="prefix")
    lines = [json.loads(line) for line in (tmp_path / "lists").read_text().splitlines()]
    assert len(lines) == written
    assert [line["prefix"] for line in lines] == sorted(line["prefix"] for line in lines)
    for line in lines[::10]:
        served = completer.complete(line["prefix"], 5, mode="prefix")
        assert [Completion(**one) for one in line["completions"]] == served
    assert {"zz top", "v", "vi"} <= {line["prefix"] for line in lines}


@pytest.mark.parametrize("form", ["elasticsearch", "opensearch"])
def test_bulk_weights_keep_the_order_of_each_list(form: str, completer: Served, tmp_path: Path) -> None:
    export(completer, tmp_path / "lists", form, k=4, shortest=3)
    lines = [json.loads(line) for line in (tmp_path / "lists").read_text().splitlines()]
    names, documents = [line["index"]["_id"] for line in lines[::2]], lines[1::2]
    assert len(set(names)) == len(names) == len(documents)
    found = defaultdict(list)
    for document in documents:
        (key,) = document["completion"]["input"]
        found[key].append((document["completion"]["weight"], document["query"]))
    for key, rows in list(found.items())[::20]:
        assert key.endswith(";")
        assert len(key) > 3
        in_order = [query for _, query in sorted(rows, reverse=True)]
        assert in_order == [one.query for one in completer.complete(key[:-1], 4)]
        assert all(weight >= 1 for weight, _ in rows)


def test_a_dictionary_for_solr(completer: Served, tmp_path: Path) -> None:
    export(completer, tmp_path / "lists", "solr", k=3)
    rows = [line.split("\t") for line in (tmp_path / "lists").read_text().splitlines()]
    assert all(len(row) == 3 and int(row[1]) >= 1 and row[0].endswith(row[2]) for row in rows)
    video = [(int(weight), shown) for term, weight, shown in rows if term.startswith("vi;")]
    assert [shown for _, shown in sorted(video, reverse=True)] == [
        c.query for c in completer.complete("vi", 3)
    ]


TEXT = st.text("ab;% \t\n\0\x1f", max_size=4)


@given(TEXT, TEXT, TEXT, TEXT)
def test_no_key_begins_with_another(typed: str, value: str, other_typed: str, other_value: str) -> None:
    one, other = (
        Entry(text, {"shop": of} if of else {}, [], ("shop", "device")).key
        for text, of in ((typed, value), (other_typed, other_value))
    )
    assert one == other or not one.startswith(other)
    assert one.isprintable()


def test_what_cannot_be_written_leaves_nothing(completer: Served, tmp_path: Path) -> None:
    with pytest.raises(WaywordError, match="expected one of jsonl"):
        export(completer, tmp_path / "lists", "xml")
    with pytest.raises(WaywordError, match="Cannot write"):
        export(completer, tmp_path / "none" / "lists", "jsonl")
    (tmp_path / "folder").mkdir()
    with pytest.raises(WaywordError, match="Cannot write"):
        export(completer, tmp_path / "folder", "jsonl")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "workspace"]


def test_the_command(undisturbed: Made, tmp_path: Path) -> None:
    done = wayword("export", undisturbed.path, "--out", tmp_path / "lists", "--shortest", 2)
    assert done.code == 0, done.err
    assert "Wrote the lists of" in done.err
    assert len((tmp_path / "lists").read_text().splitlines()) > 500
    bad = wayword("export", undisturbed.path, "--out", tmp_path / "more", "--format", "xml")
    assert bad.code == 2
    assert all(form in bad.err for form in FORMS)
