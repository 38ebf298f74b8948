"""Texts in a file: what comes out is what went in."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wayword.store.strings import Strings


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=12), st.data())
def test_what_was_saved_is_found_by_number(tmp_path: Path, texts: list[str], data: st.DataObject) -> None:
    Strings.of(texts).save(tmp_path, "texts")
    found = Strings.load(tmp_path, "texts")
    assert list(found) == texts
    assert len(found) == len(texts)
    part = data.draw(st.slices(len(texts)))
    assert found[part] == texts[part]
    for place in (*range(-len(texts), len(texts)),):
        assert found[place] == texts[place]
    with pytest.raises(IndexError):
        found[len(texts)]


def test_half_a_surrogate_pair_is_no_text() -> None:
    assert list(Strings.of(["a\ud800b"])) == ["a?b"]


def test_offsets_that_lead_outside_are_refused(tmp_path: Path) -> None:
    texts = Strings.of(["one", "two"])
    texts.encoded.offsets[1] = 99
    texts.save(tmp_path, "texts")
    with pytest.raises(ValueError, match="rows of texts that do not follow"):
        Strings.load(tmp_path, "texts")
