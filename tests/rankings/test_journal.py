"""The journal of answers: what is on disk counts, whatever a crash cut off."""

import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wayword.errors import EngineError
from wayword.rankings.journal import Journal, Line

LINES: list[Line] = [
    {"query": query, "time": 1.5 + n, "documents": documents}
    for n, (query, documents) in enumerate([("tv", ["a", None]), ("日本\n", []), ('"}', ["ö"]), ("tv", [])])
]


def written(path: Path, identity: str = "one") -> bytes:
    with closing(Journal(path, identity)) as journal:
        journal.append(LINES[:2])
        journal.append(LINES[2:])
    return path.read_bytes()


@settings(max_examples=60)
@given(st.data())
def test_a_journal_that_was_cut_anywhere_goes_on_from_its_last_whole_answer(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        whole = written(path)
        end = data.draw(st.integers(0, len(whole)))
        tail = data.draw(
            st.sampled_from([b"", b"\0" * 50, b'{"query": "x", "time"', b"[1]\n", b'{"query": 1}\n'])
        )
        path.write_bytes(whole[:end] + tail)
        kept = max(whole[:end].count(b"\n") - 1, 0)
        with closing(Journal(path, "one")) as journal:
            assert journal.times == {line["query"]: line["time"] for line in LINES[:kept]}
            journal.append(LINES[kept:])
        assert path.read_bytes() == whole


def test_answers_of_another_source_are_dropped_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    written(path)
    with closing(Journal(path, "two")) as journal:
        assert journal.times == {}
        assert journal.dropped == len(LINES)
    with closing(Journal(path, "two")) as journal:
        assert journal.dropped == 0


def test_two_runs_do_not_write_one_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with (
        closing(Journal(path, "one")),
        pytest.raises(EngineError, match=r"Another run writes .*journal\.jsonl"),
    ):
        Journal(path, "one")
    written(path)


def test_a_link_in_the_place_of_the_journal_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "journal.jsonl").symlink_to(tmp_path / "precious")
    with pytest.raises(OSError, match="symbolic"):
        Journal(tmp_path / "journal.jsonl", "one")
    assert (tmp_path / "precious").read_text() == "precious"
