"""A block list matches whole words in scripts with spaces, anywhere in others, and patterns in bounded time."""

import importlib.util
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayword.errors import MissingExtra, WaywordError
from wayword.index import block_list
from wayword.index.block_list import BlockList
from wayword.text import normalise


@pytest.mark.parametrize(
    ("line", "blocked", "free"),
    [
        ("Darn", ["darn", "DARN it", "a darn-good day"], ["darned", "goddarn"]),
        ("holy cow", ["holy-cow!", "the holy cow"], ["holy", "cow holy", "holy cows"]),
        ("дурак", ["Дурак ты"], ["дураки"]),
        ("バカ", ["このバカ野郎"], ["バナナ"]),
        ("หยาบ", ["คำหยาบคาย"], ["คำสุภาพ"]),
        ("سيء", ["شيء سيء"], ["سيئ"]),
        (r"/^x{3}\b/", ["XXX video"], ["a xxx", "xxxx"]),
        ("# darn", [], ["darn"]),
        ("", [], ["darn", ""]),
    ],
)
def test_lines_match_in_all_scripts(line: str, blocked: list[str], free: list[str]) -> None:
    found = BlockList.parse(f"{line}\n")
    assert [text for text in blocked if not found.matches(normalise(text))] == []
    assert [text for text in free if found.matches(normalise(text))] == []


@given(st.text(st.characters(categories=["Ll", "Nd"]), min_size=1, max_size=8))
def test_a_word_blocks_itself_among_others_and_nothing_else(word: str) -> None:
    plain = normalise(word)
    found = BlockList.parse(word)
    assert found.matches(f"some {plain} here")
    assert found.matches("other words") == (plain in ("other", "words"))


def test_places_are_those_of_the_blocked() -> None:
    assert BlockList.parse("b\nd e\n").places(["a", "b", "a b", "d f e", "d e"]) == [1, 2, 4]
    assert not BlockList.parse("# nothing\n\n")


def test_a_slow_pattern_blocks_what_it_cannot_decide_and_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    found = BlockList.parse(r"/^(a|a|aa)+$/")
    slow = "a" * 60 + "!"
    assert found.places([slow] * (block_list.MOST_TIMEOUTS + 5)) == list(range(block_list.MOST_TIMEOUTS + 1))
    assert "takes too long" in caplog.text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("ok\n/(/\n", r"Found /\(/ in line 2"),
        ("x" * 1001, "Found 1,001 characters in line 1"),
        ("a\n" * 200_001, "Found 200,001 lines"),
        ("/a/\n" * 1001, "Found 1,001 patterns"),
    ],
)
def test_bad_lines_are_named(content: str, message: str) -> None:
    with pytest.raises(WaywordError, match=message):
        BlockList.parse(content)


def test_a_missing_file_blocks_nothing_unless_it_is_named(tmp_path: Path) -> None:
    assert not BlockList.load(tmp_path / "none")
    with pytest.raises(WaywordError, match="There is no block list"):
        BlockList.load(tmp_path / "none", needed=True)
    (tmp_path / "bad").write_bytes(b"\xff\xfe")
    with pytest.raises(WaywordError, match="Expected UTF-8"):
        BlockList.load(tmp_path / "bad")
    with pytest.raises(WaywordError, match="Cannot read"):
        BlockList.load(tmp_path)


def test_a_json_list_of_a_package_can_be_used(tmp_path: Path) -> None:
    file = tmp_path / "english.json"
    for content in ('["Darn", "holy cow"]', '{"words": ["Darn", "holy cow"]}'):
        file.write_text(content)
        assert BlockList.load(file) == BlockList.parse("darn\nholy cow")
    for content in ("{}", "[1]", "{"):
        file.write_text(content)
        with pytest.raises(WaywordError, match=r"list of words|Cannot read"):
            BlockList.load(file)


def test_the_english_list_of_the_extra_blocks_slurs_and_leaves_goods_alone() -> None:
    found = BlockList.named("english")
    assert [text for text in ("holy shit", "a bitch", "two girls one cup") if not found.matches(text)] == []
    free = ("a lamp", "cockpit", "scunthorpe", "shiitake", "classic bass", "video player", "hit and run", "")
    assert [text for text in free if found.matches(text)] == []
    assert len(found.texts) > 350
    assert "glin_profanity" not in sys.modules  # its data are read, its code is not run


def test_a_file_can_include_the_english_list_and_take_entries_back() -> None:
    english = BlockList.named("english")
    found = BlockList.parse("@english\n!Bs\ndarn\n!big tits\n")
    assert found.texts == english.texts - {"bs", "big tits"} | {"darn"}
    assert found.tag not in (english.tag, BlockList.parse("darn").tag)
    assert BlockList.parse("darn\n!darn\n@englisch").texts == {"@englisch"}


def test_the_tag_of_a_file_changes_with_the_list_that_it_includes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_list, "file_of", lambda _name: tmp_path / "english.json")
    tags = set()
    for words in ('["darn"]', '["darn", "heck"]'):
        (tmp_path / "english.json").write_text(words)
        tags.add(BlockList.parse("@english").tag)
    assert len(tags) == 2
    (tmp_path / "english.json").unlink()
    with pytest.raises(WaywordError, match="There is no block list"):
        BlockList.named("english")


def test_without_the_extra_the_message_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert importlib.util.find_spec("glin_profanity")
    monkeypatch.setattr(block_list, "find_spec", lambda _name: None)
    with pytest.raises(MissingExtra, match=r"pip install '\.\[words\]'"):
        BlockList.named("english")
    with pytest.raises(MissingExtra, match="extra 'words'"):
        BlockList.parse("@english")
