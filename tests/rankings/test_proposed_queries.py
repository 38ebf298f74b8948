"""Queries proposed from titles and attributes, and further ones from a file: what they are; and they are served."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayword.config import Config, LogConfig, RankingsConfig
from wayword.engines import tables
from wayword.errors import ConfigError, LogError
from wayword.logs import stage as log_stage
from wayword.pipeline import run
from wayword.progress import Progress
from wayword.rankings import stage
from wayword.rankings.proposed_queries import Spellings, best, candidates
from wayword.serving.completer import Completer
from wayword.store.stage import Report
from wayword.store.workspace import Workspace
from wayword.text import normalise

KINDS = ("Table lamp", "Solar lamp", "MP3 player", "Rain jacket", "Cable ladder")
COLOURS = ("Red", "Blue")
TITLES = [f"{kind}, {size}" for kind in KINDS for size in ("small", "large", "with USB", "for travel")]
DOCUMENTS = {
    "document": [f"d{n}" for n in range(len(TITLES))],
    "title": TITLES,
    "colour": [COLOURS[n % 4 // 3] for n in range(len(TITLES))],
    "price": [f"{n}.99" for n in range(len(TITLES))],
}
SETTINGS = {"evaluation": {"sessions": 10, "bootstrap": 10}, "index": {"min_searches": 1}}


def test_what_is_proposed_is_shared_by_titles_and_written_as_they_write_it() -> None:
    found = candidates(pa.table(DOCUMENTS))
    assert {"MP3 player", "table lamp", "rain jacket", "cable ladder"} <= set(found)
    assert "red MP3 player" in found  # three of each kind are red
    assert "blue MP3 player" not in found  # one is blue
    assert not any("99" in text for text in found)  # as many prices as documents
    assert len(set(map(normalise, found))) == len(found)


@given(st.lists(st.text(st.sampled_from("aB3 -,.é語<>&"), max_size=12), max_size=12))
def test_any_titles_give_distinct_texts_fit_to_be_shown(titles: list[str]) -> None:
    documents = {"document": [str(n) for n in range(len(titles))], "title": titles}
    found = candidates(pa.table({name: pa.array(values, pa.string()) for name, values in documents.items()}))
    assert len({normalise(text) for text in found}) == len(found)
    assert all(text.strip() == text and "<" not in text for text in found)


def test_a_capital_at_the_beginning_of_a_title_says_nothing() -> None:
    spellings = Spellings.of(["Lamp for DVD players", "DVD player", "Player of DVD disks", "Łódź map"])
    assert spellings.spelt("dvd player") == "DVD player"
    assert spellings.spelt("lamp") == "lamp"
    assert spellings.spelt("unknown word") == "unknown word"


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(1, 5)),
        unique_by=lambda row: row[:2],
        min_size=1,
        max_size=12,
    ),
    st.lists(st.integers(1, 50), min_size=5, max_size=5),
    st.integers(1, 4),
)
def test_those_are_kept_whose_results_are_wanted_most(
    rows: list[tuple[int, int, int]], wanted: list[int], most: int
) -> None:
    scores: dict[str, float] = {}
    for query, document, rank in rows:
        scores[f"q{query}"] = scores.get(f"q{query}", 0.0) + wanted[document] / rank
    ranked = pa.table(
        {
            "query": [f"q{query}" for query, _, _ in rows],
            "document": [f"d{document}" for _, document, _ in rows],
            "rank": [rank for *_, rank in rows],
        }
    )
    documents = pa.table({"document": [f"d{n}" for n in range(5)]})
    found = best(ranked, documents, np.array(wanted, np.float64), most)
    assert len(found) == min(most, len(scores))
    expected = sorted(scores.values(), reverse=True)[: len(found)]
    assert [scores[query] for query in found] == pytest.approx(expected)


def shop(folder: Path) -> tuple[Path, Path]:
    """People search for lamps and jackets; nobody has searched for anything else."""
    rows = [("lamp", f"d{n % 8}", n % 8 + 1) for n in range(200)]
    rows += [("jacket", f"d{12 + n % 4}", n % 4 + 1) for n in range(60)]
    log = dict(zip(("query", "document", "rank"), map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table(log), folder / "clicks.parquet")
    pq.write_table(pa.table(DOCUMENTS), folder / "documents.parquet")
    return folder / "clicks.parquet", folder / "documents.parquet"


def served(workspace: Workspace, typed: str) -> list[str]:
    return [one.query for one in Completer.open(workspace).complete(typed, 8)]


def queries(workspace: Workspace) -> list[str]:
    texts: Sequence[str] = tables.read(workspace.folder("rankings"), "queries")["text"].to_pylist()
    return list(texts)


def test_proposed_queries_are_suggested_where_they_serve_what_people_want(tmp_path: Path) -> None:
    log, documents = shop(tmp_path)
    plain = run(log, documents=documents, out=tmp_path / "plain", config=Config.parse(SETTINGS))
    assert queries(plain) == ["jacket", "lamp"]
    settings = Config.parse({**SETTINGS, "rankings": {"propose": 6}})
    made = run(log, documents=documents, out=tmp_path / "made", config=settings)
    assert made.report("rankings")["proposed queries"] == len(queries(made)) - 2 == 6
    assert any("lamp" in query for query in set(queries(made)) - {"lamp", "jacket"})
    shown = served(made, "lam") + served(made, "lamp ")
    assert {query for query in shown if query not in ("lamp", "jacket")}


def ranked(folder: Path, more: Path, rankings: Path | None = None) -> tuple[list[dict[str, str]], Report]:
    """The queries of the stage `rankings`, and its report."""
    log, documents = shop(folder)
    for name in ("log", "rankings"):
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir()
    log_stage.write(folder / "log", log, LogConfig())
    report = stage.write(
        folder / "rankings",
        {"log": folder / "log"},
        RankingsConfig(),
        exported=rankings,
        documents=documents,
        queries=more,
        progress=Progress(),
    )
    return tables.read(folder / "rankings", "queries").to_pylist(), report


def test_further_queries_of_a_file_are_answered(tmp_path: Path) -> None:
    more = tmp_path / "queries.csv"
    more.write_text('query\nSolar Lamp\nLAMP\nnothing like it\n""\n')
    found, _ = ranked(tmp_path, more)
    assert [(row["text"], row["shown"]) for row in found] == [
        ("jacket", "jacket"), ("lamp", "lamp"), ("solar lamp", "Solar Lamp"),
    ]  # fmt: skip
    rankings = tmp_path / "rankings.csv"
    rows = [
        f"{query},d{first + n},{n + 1}" for query, first in (("lamp", 0), ("jacket", 12)) for n in range(8)
    ]
    rankings.write_text("\n".join(["query,document,rank", *rows]))
    found, report = ranked(tmp_path, more, rankings)
    assert [row["text"] for row in found] == ["jacket", "lamp"]
    assert report["further queries without a ranking"] == 2
    more.write_text("text\nlamp\n")
    with pytest.raises(LogError, match="has the columns text; expected query"):
        ranked(tmp_path, more)


def test_proposals_without_results_are_refused(tmp_path: Path) -> None:
    log, documents = shop(tmp_path)
    settings = Config.parse({"rankings": {"propose": 5}})
    with pytest.raises(ConfigError, match=r"rankings\.propose = 5 and exported rankings"):
        run(log, documents, out=tmp_path / "w", config=settings)
