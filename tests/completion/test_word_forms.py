"""Forms of words are learned from the vocabulary, in several languages, and other words stay apart."""

import unicodedata
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from wayword.completion.word_forms import similarity, without_accents, word_contexts, word_forms
from wayword.store.compressed_rows import CompressedRows

VOCABULARIES = {
    "english": {
        "pairs": "player players|cable cables|box boxes|bus buses|watch watches|brush brushes|dish dishes|fox foxes|"
        "tax taxes|"
        "bench benches|lamp lamps|city cities|battery batteries|berry berries|body bodies|party parties|story stories|"
        "puppy puppies|hobby hobbies|shoe shoes|table tables|chair chairs|phone phones|screen screens|case cases",
        "alone": "car card cart care boss bos glass glas class access address dress cross press business wireless news "
        "bonus "
        "status virus lens chess iphone board keyboard hard word sport port",
    },
    "italian": {
        "pairs": "scarpa scarpe|borsa borse|maglia maglie|gonna gonne|cintura cinture|lampada lampade|sedia sedie|"
        "tazza tazze|"
        "libro libri|vestito vestiti|cappello cappelli|tavolo tavoli|telefono telefoni|orologio orologi|zaino zaini|"
        "stivale stivali|pantalone pantaloni|bicchiere bicchieri|maglione maglioni|calzone calzoni|cuscino cuscini",
        "alone": "casa mano sport computer auto radio foto tennis film",
    },
    "german": {
        "pairs": "lampe lampen|tasche taschen|hose hosen|jacke jacken|schraube schrauben|flasche flaschen|decke decken|"
        "matratze matratzen|kanne kannen|tasse tassen|bluse blusen|kerze kerzen",
        "alone": "garten rasen wagen ofen laden haken kissen besteck herd",
    },
    "russian": {
        "pairs": "телефон телефоны|стол столы|диван диваны|шкаф шкафы|фонарь фонари|чехол чехолы|ноутбук ноутбуки|"
        "принтер принтеры|стакан стаканы|замок замоки|экран экраны|магнит магниты|насос насосы|пылесос пылесосы",
        "alone": "мыши брюки джинсы дом",
    },
}


def pairs_of(language: str) -> list[list[str]]:
    return [pair.split() for pair in VOCABULARIES[language]["pairs"].split("|")]


def forms_of(words: list[str], counts: list[int] | None = None) -> dict[str, str]:
    numbers = word_forms(words, np.array(counts or [10] * len(words), np.int64))
    return {word: words[number] for word, number in zip(words, numbers.tolist(), strict=True)}


@pytest.mark.parametrize("language", VOCABULARIES)
def test_regular_forms_are_one_word_in_every_language_and_others_are_not(language: str) -> None:
    pairs = pairs_of(language)
    alone = VOCABULARIES[language]["alone"].split()
    form = forms_of(sorted({word for pair in pairs for word in pair} | set(alone)))
    together = sum(form[first] == form[second] for first, second in pairs)
    assert together >= 0.75 * len(pairs), [pair for pair in pairs if form[pair[0]] != form[pair[1]]]
    assert [word for word in alone if form[word] != word] == []


def test_an_ending_is_bound_to_the_letter_before_it() -> None:
    words = sorted({word for pair in pairs_of("english") for word in pair} | {"note", "not", "notes"})
    form = forms_of(words)
    assert form["note"] == form["notes"] != form["not"]


def test_digits_and_symbols_never_merge() -> None:
    plurals = [word for pair in pairs_of("english") for word in pair]
    models = ["7", "7s", "1990", "1990s", "gtx1080", "gtx1080s", "c", "c#", "c++", "a5", "a5s"]
    form = forms_of(plurals + models)
    assert all(form[model] == model for model in models)


def test_scripts_without_spaces_never_merge() -> None:
    words = [
        f"{noun}{ending}"
        for noun in ("手机保护", "平板电脑", "笔记本包", "耳机盒子")
        for ending in ("", "壳", "套")
    ]
    assert len(set(forms_of(words).values())) == len(words)


def test_accent_variants_are_one_word_without_any_statistics() -> None:
    assert set(forms_of(["cafe", "café", "tea"], [1, 5, 2]).values()) == {"café", "tea"}
    assert forms_of(["ёлка", "елка"], [1, 1])["ёлка"] == "елка"


def test_one_pair_alone_is_no_evidence() -> None:
    assert len(set(forms_of(["card", "cards", "lamp", "tent"]).values())) == 4


def test_words_used_differently_are_not_forms() -> None:
    """Eight agents in -er beside ten plurals: the contexts of plurals agree, those of agents do not."""
    nouns = [
        "cable",
        "lamp",
        "ladder",
        "chair",
        "table",
        "phone",
        "screen",
        "pillow",
        "mirror",
        "carpet",
        "drawer",
    ]
    verbs = ["print", "paint", "speak", "heat", "clean", "toast", "scann", "blend", "trimm", "shred"]
    beside = [f"kind{letter}" for letter in "abcdefghijkl"]
    texts = [
        f"{noun}{end} {kind}"
        for n, noun in enumerate(nouns)
        for end in ("", "s")
        for kind in beside[n % 5 : n % 5 + 6]
    ]
    texts += [f"{verb} {kind}" for verb in verbs for kind in beside[:6]]
    texts += [f"{verb}er {kind}" for verb in verbs for kind in beside[6:]]
    words = sorted({word for text in texts for word in text.split()})
    number = {word: place for place, word in enumerate(words)}
    contents = CompressedRows.from_lengths(
        np.array([number[word] for text in texts for word in sorted(text.split())]), np.full(len(texts), 2)
    )
    counts = np.full(len(words), 9)
    without = word_forms(words, counts)
    assert without[number["printer"]] == without[number["print"]]
    forms = word_forms(words, counts, word_contexts(contents, len(words)))
    assert forms[number["printer"]] != forms[number["print"]]
    assert forms[number["lamps"]] == forms[number["lamp"]]


def test_contexts_are_compared_by_their_cosine() -> None:
    rows = csr_array(
        np.array([[1.0] * 6 + [0] * 6, [0.0] * 3 + [1] * 6 + [0] * 3, [1.0] + [0] * 11]) / 6**0.5
    )
    left, right = np.array([0, 0]), np.array([1, 2])
    assert similarity(rows, left, right) == pytest.approx([3 / 6, np.nan], nan_ok=True)


WORDS = st.lists(
    st.text(st.sampled_from("aeéstmnøж7"), min_size=1, max_size=8), min_size=1, max_size=60, unique=True
)


@given(WORDS, st.randoms(use_true_random=False))
def test_numbers_point_to_a_most_searched_form_and_do_not_depend_on_the_order(
    words: list[str], random: Random
) -> None:
    counts = np.array([random.randrange(1, 9) for _ in words])
    numbers = word_forms(words, counts)
    assert (numbers[numbers] == numbers).all()
    folded: dict[str, int] = {}
    for word, count in zip(words, counts.tolist(), strict=True):
        folded[without_accents(word)] = folded.get(without_accents(word), 0) + count
    for word, number in zip(words, numbers.tolist(), strict=True):
        assert folded[without_accents(words[number])] >= folded[without_accents(word)]
    order = list(range(len(words)))
    random.shuffle(order)
    again = word_forms([words[place] for place in order], counts[order])
    assert [words[order[number]] for number in again.tolist()] == [words[numbers[place]] for place in order]


@given(st.text(st.characters(categories=["Ll", "Lo", "Mn", "Mc"]), max_size=12))
def test_accents_are_removed_once(word: str) -> None:
    plain = without_accents(unicodedata.normalize("NFKC", word))
    assert without_accents(plain) == plain
