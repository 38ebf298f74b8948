"""Phrases of titles are those that a person would type."""

import pytest

from wayword.rankings.title_phrases import LONGEST, STOP_WORDS, TitlePhrases, parts_of_title
from wayword.simulation.catalogue import load_catalogue
from wayword.simulation.worlds.packages import catalogue_phrases


@pytest.fixture(scope="module")
def phrases() -> TitlePhrases:
    return catalogue_phrases(load_catalogue())


@pytest.mark.parametrize(
    "phrase",
    [
        "web browser",
        "text editor",
        "media player",
        "pdf viewer",
        "window manager",
        "board game",
        "editor",
        "game",
    ],
)
def test_what_people_type_is_a_phrase(phrases: TitlePhrases, phrase: str) -> None:
    assert phrases.typed(phrase)


@pytest.mark.parametrize(
    "fragment",
    [
        "where you control",
        "weight",
        "browser running",
        "line interface",
        "purpose computational fluid",
        "curses based",
        "game similar",
        "providing",
        "graphical",
        "tool",
    ],
)
def test_fragments_are_not(phrases: TitlePhrases, fragment: str) -> None:
    assert not phrases.typed(fragment)


def test_phrases_have_at_most_three_words_and_speaking_ends() -> None:
    title = "a tool for the i o of a mail server and its users"
    for phrase in TitlePhrases([title, f"{title} too"]).of_title(title):
        words = phrase.split()
        assert 1 <= len(words) <= LONGEST
        assert not {words[0], words[-1]} & (STOP_WORDS | {"i", "o"})


def test_phrases_do_not_cross_punctuation() -> None:
    assert parts_of_title("Mail: reader, X.Org - fast (e-mail)") == [
        ["mail"],
        ["reader"],
        ["x", "org"],
        ["fast"],
        ["e", "mail"],
    ]
    assert "mail reader" not in TitlePhrases(["Mail, reader", "mail: reader"]).of_title("Mail, reader")
