import unicodedata

import pytest
import regex
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import wayword.text
from wayword.text import LONGEST_CUT, _normalised, cuts, normalise, normalise_distinct, normalise_within

TRICKY = [
    *"'’-?!… \t\x00\ud800\u3000\u00ad\u200b\u200c\u200d\u0301\u0345\u0600#&+´`،؟אבגßİıſŉᾳΐΣς",
    *["가", "각", "\u1100", "\u1161", "\u11a8", "กำ", "नमस्ते", "👩‍🚀", "❤️", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "Ａ１", "ﬁ", "½", "①"],
]
texts = st.lists(st.one_of(st.characters(codec=None), st.sampled_from(TRICKY)), max_size=8).map("".join)
thorough = settings(max_examples=500, deadline=None)


def invisible(text: str) -> bool:
    return all(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zs", "Zl", "Zp") for c in text)


@pytest.mark.parametrize(
    ("raw", "normal"),
    [
        ("  Real-time  Strategy: Don’t Ｐａｎｉｃ! ", "real time strategy dont panic"),
        ("Straße", "strasse"),
        ("C#", "c#"),
        ("c++ 5€ AT&T 100%", "c++ 5€ at&t 100%"),
        ("rock 'n' roll", "rock n roll"),
        ("co\u00adop", "coop"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("👩‍🚀 Moon", "👩‍🚀 moon"),
        ("\u200da \u200cb", "a b"),
        ("a\x00b", "a b"),
        ("a\ud800b", "a b"),
        ("???", "???"),
        ("\u200b?", "?"),
        ("\u200d?", "?"),
        ("'", "'"),
        ("\u200b", ""),
        (" \t\n\u00a0\u200d", ""),
        ("", ""),
    ],
)
def test_the_rule_by_example(raw: str, normal: str) -> None:
    assert normalise(raw) == normal


@thorough
@given(texts)
def test_a_normal_form_is_its_own_normal_form(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


@thorough
@given(texts)
@example("\u0600")
def test_only_a_text_in_which_nothing_can_be_seen_becomes_empty(text: str) -> None:
    assert normalise(text) or invisible(text)


@thorough
@given(texts)
def test_one_space_between_words_and_none_at_the_ends(text: str) -> None:
    assert " ".join(normalise(text).split()) == normalise(text)


@thorough
@given(texts, st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
def test_every_unicode_form_of_a_text_is_the_same_text(text: str, form: str) -> None:
    assert normalise(unicodedata.normalize(form, text)) == normalise(text)  # type: ignore[arg-type]


@thorough
@given(texts)
def test_case_does_not_count(text: str) -> None:
    text = unicodedata.normalize("NFC", text)  # case folding tells orders of combining marks apart
    assert normalise(text.casefold()) == normalise(text.lower()) == normalise(text)
    assume(text.upper().casefold() == text.casefold())  # not so for the dotless i, whose capital is I
    assert normalise(text.upper()) == normalise(text)


@given(st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E)))
def test_width_does_not_count(text: str) -> None:
    wide = "".join(chr(ord(c) + 0xFF01 - 0x21) for c in text)
    assert normalise(wide) == normalise(text)


@given(st.lists(texts))
def test_distinct_texts_each_have_their_normal_form(many: list[str]) -> None:
    assert normalise_distinct(many) == {text: normalise(text) for text in many}


def slow_cuts(text: str, min_chars: int) -> list[str]:
    graphemes = regex.findall(r"\X", text)
    prefixes = ["".join(graphemes[:n]) for n in range(min_chars, len(graphemes))]
    return [prefix for prefix in prefixes if prefix == prefix.rstrip()]


@thorough
@given(texts.map(normalise), st.integers(1, 4))
def test_cuts_are_those_of_a_slow_loop_over_graphemes(text: str, min_chars: int) -> None:
    assert cuts(text, min_chars=min_chars) == slow_cuts(text, min_chars)


@thorough
@given(texts.map(normalise))
def test_a_cut_is_a_proper_prefix_and_a_normal_form_so_that_a_typed_one_matches_it(text: str) -> None:
    for cut in cuts(text):
        assert text.startswith(cut)
        assert 0 < len(cut) < len(text)
        assert normalise(cut) == cut
    assert cuts(text) == sorted(cuts(text), key=len)


@thorough
@given(texts.map(normalise), st.integers(1, 4))
def test_first_word_cuts_are_the_others_from_the_first_word_on(text: str, min_chars: int) -> None:
    everywhere = cuts(text, min_chars=min_chars)
    first = text.split(" ", maxsplit=1)[0]
    expected = [cut for cut in everywhere if len(cut) >= len(first)]
    assert cuts(text, start="first-word", min_chars=min_chars) == expected


def test_a_long_text_is_cut_where_people_may_still_be_typing() -> None:
    assert len(cuts("x" * LONGEST_CUT)) == LONGEST_CUT - 1
    assert [len(cut) for cut in cuts("x" * 100_000)] == list(range(1, LONGEST_CUT + 1))


@given(st.text(st.characters(max_codepoint=127), max_size=30))
def test_plain_texts_are_normalised_as_all_others(text: str) -> None:
    """The short cut for ASCII gives what the rule gives."""
    assert normalise(text) == _normalised(text)


@thorough
@given(texts, st.integers(1, 40))
@example("ﷺ" * 3, 20)
def test_a_bounded_text_is_the_beginning_of_the_normal_form(text: str, most: int) -> None:
    bounded = normalise_within(text, most)
    assert len(bounded) <= most
    assert normalise(bounded) == bounded
    if len(text) <= most and len(unicodedata.normalize("NFKC", text)) < most and len(normalise(text)) <= most:
        assert bounded == normalise(text)


def test_the_work_for_a_text_that_grows_is_that_for_its_normal_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand ligatures are 18,000 characters; only as many are normalised as are kept."""
    folded: list[int] = []
    fold = wayword.text._fold

    def counted(text: str) -> str:
        result = fold(text)
        folded.append(len(result))
        return result

    monkeypatch.setattr(wayword.text, "_fold", counted)
    assert len(normalise_within("ﷺ" * 1000, 1000)) == 1000
    assert max(folded) < 1000 + 18 * 16
