"""Which queries are asked."""

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wayword.engines import Engine
from wayword.engines.duck import DuckDB
from wayword.errors import LogError
from wayword.rankings.asked_queries import asked_queries
from wayword.text import normalise

RAW = st.sampled_from(
    ["TV stand", "tv stand", "tv-stand", "TV", "tv", "…", "  ", "", None, "o'reilly", "oreilly"]
)


def slow(searched: list[str | None], further: list[str | None]) -> list[str]:
    """The same by hand."""
    times = Counter(query for query in searched if query is not None)
    forms: dict[str, list[str]] = {}
    for query in {*times, *(query for query in further if query is not None)}:
        if text := normalise(query):
            forms.setdefault(text, []).append(query)
    order = sorted(forms, key=lambda text: (-sum(times[query] for query in forms[text]), text))
    return [min(forms[text], key=lambda query: (-times[query], query)) for text in order]


@settings(max_examples=25)
@given(st.lists(RAW, max_size=12), st.lists(RAW, max_size=5))
def test_each_text_is_asked_once_in_its_most_searched_form(
    searched: list[str | None], further: list[str | None]
) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        one, two = Path(folder) / "one.parquet", Path(folder) / "two.parquet"
        pq.write_table(pa.table({"query": pa.array(searched, pa.string())}), one)
        pq.write_table(pa.table({"query": pa.array(further, pa.string())}), two)
        engine = DuckDB(threads=1)
        try:
            wanted = slow(searched, further)
            if wanted:
                assert asked_queries(engine, [one], [two]) == wanted
            else:
                with pytest.raises(LogError, match="Found no query in"):
                    asked_queries(engine, [one], [two])
        finally:
            engine.close()


def test_searches_are_counted_not_their_clicks_and_formats_mix(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("search_id,query\n1,TV\n1,TV\n1,TV\n2,tv\n3,tv\n")
    (tmp_path / "more.jsonl").write_text('{"query": "radio"}\n{"query": 7}\n')
    assert asked_queries(engine, [tmp_path / "log.csv", tmp_path / "more.jsonl"]) == ["tv", "7", "radio"]


def test_a_table_without_queries_says_what_it_has(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("search_term,clicks\ntv,1\n")
    with pytest.raises(LogError, match=r"lacks the column query; found: search_term, clicks. Rename"):
        asked_queries(engine, [tmp_path / "log.csv"])
