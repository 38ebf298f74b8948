"""Which texts are known, and which of them become the same queries: against plain search."""

from hypothesis import given
from hypothesis import strategies as st

from wayword.index.prefix_groups import group_prefixes
from wayword.text import cut_ends, normalise

WORDS = st.lists(st.sampled_from(["tv", "tvs", "stand", "s", "ü", "👩‍🚀", "a"]), min_size=1, max_size=3)


@given(st.lists(WORDS.map(" ".join), max_size=12))
def test_texts_of_the_same_queries_are_one_group(drawn: list[str]) -> None:
    texts = sorted({normalise(text) for text in drawn})
    found = group_prefixes(texts)
    assert found.typed == sorted({t[:end] for t in texts for end in [*cut_ends(t), len(t)]})

    def becomes(typed: str) -> tuple[str, ...]:
        queries = [text for text in texts if text.startswith(typed)]
        return tuple(text for text in queries if text != typed)

    groups = dict(zip(found.typed, found.group.tolist(), strict=True))
    for one in found.typed:
        assert becomes(found.example[groups[one]]) == becomes(one)
        for other in found.typed:
            if groups[one] == groups[other]:
                assert becomes(one) == becomes(other)
    assert sorted(set(groups.values())) == list(range(len(found.example)))


def test_there_are_few_groups_however_long_the_texts() -> None:
    """A text that nothing else begins like has few lists, not one for each of its characters."""
    texts = sorted(f"{letter * 50} {number}" for letter in "abc" for number in range(10))
    found = group_prefixes(texts)
    assert len(found.typed) > 150
    assert len(found.example) == 3 * (1 + 10)


def test_a_very_long_text_is_known_by_its_first_characters() -> None:
    found = group_prefixes(["x" * 5000])
    assert max(map(len, found.typed)) == 1000
    assert len(found.example) == 1
