"""The embedded BM25 as a source."""

from contextlib import closing
from pathlib import Path

import pytest

from wayword.errors import LogError
from wayword.rankings.sources.members import open_source
from wayword.rankings.sources.source import Answer, Options


def asked(language: str | None, folder: Path) -> list[Answer]:
    (folder / "documents.csv").write_text(
        "document,title\na,running shoes\nb,Laufschuhe\nc,Häuser\n", encoding="utf-8"
    )
    options = Options(documents=folder / "documents.csv", language=language)
    with closing(open_source("bm25", options)) as source:
        return source.ask(["shoe run", "haus", "C++"], 10)


def test_words_are_stemmed_by_language(tmp_path: Path) -> None:
    assert asked(None, tmp_path) == [[], [], []]
    assert asked("english", tmp_path) == [["a"], [], []]
    assert asked("german", tmp_path) == [[], ["c"], []]
    with pytest.raises(LogError, match="Found the language 'latin'; expected one of arabic, "):
        asked("latin", tmp_path)


def test_another_table_or_language_is_another_engine(tmp_path: Path) -> None:
    file = tmp_path / "documents.csv"
    found = []
    for title, language in (("one", None), ("one", "english"), ("two", None)):
        file.write_text(f"document,title\na,{title}\n")
        with closing(open_source("bm25", Options(documents=file, language=language))) as source:
            found.append(source.identity)
    assert found[0] != found[1] != found[2] != found[0]
