"""A run with the lists that people were shown: taken suggestions count for what was intended."""

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shop import CONFIG, make_world
from wayword import pipeline
from wayword.completion.acceptance import Acceptance
from wayword.completion.acceptance_workspace import learn_from
from wayword.completion.intended_queries import SMOOTHING
from wayword.completion.popular import popularity
from wayword.completion.shown_lists import OTHER_QUERY
from wayword.config import Config
from wayword.demand.training_data import read
from wayword.engines import Engine, tables
from wayword.errors import ConfigError, LogError
from wayword.index.versions import ROOT, current
from wayword.plan import Inputs
from wayword.progress import Progress
from wayword.simulation.people_log import write_people
from wayword.store.workspace import Workspace

SETTINGS = Config.parse({"evaluation": {"bootstrap": 50}})


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_people(
        make_world(), people="lenient", lists_shown=4000, out=tmp_path_factory.mktemp("people") / "data"
    )


@pytest.fixture(scope="module")
def made(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return pipeline.run(
        data / "clicks.parquet",
        data / "rankings.parquet",
        completions=data / "completions.parquet",
        out=tmp_path_factory.mktemp("made") / "workspace",
        config=SETTINGS,
    )


def distance(counts: np.ndarray, intended: np.ndarray) -> float:
    return float(0.5 * np.abs(counts / counts.sum() - intended / intended.sum()).sum())


def wanted_in(data: Path, made: Workspace) -> np.ndarray:
    """How many people intended each query of the workspace."""
    texts = tables.read(made.folder("rankings"), "queries")["text"].to_pylist()
    number = {text: place for place, text in enumerate(texts)}
    wanted = pq.read_table(data / "people.parquet")["intended_query"].to_pylist()
    return np.bincount([number[text] for text in wanted if text in number], minlength=len(texts))


def test_popularity_is_nearer_to_what_was_intended(data: Path, made: Workspace) -> None:
    rankings, intended = made.folder("rankings"), wanted_in(data, made)
    issued = popularity(rankings, "retriever", "ranker")
    inferred = popularity(rankings, "retriever", "ranker", acceptance=made.folder("acceptance"))
    assert inferred.sum() == pytest.approx(issued.sum(), abs=len(issued))
    assert distance(inferred, intended) < distance(issued, intended)


def test_the_posterior_of_each_taken_search_sums_to_1(made: Workspace) -> None:
    table = tables.read(made.folder("acceptance"), "intended")
    sums = table.group_by("search").aggregate([("probability", "sum")])
    assert sums["probability_sum"].to_numpy() == pytest.approx(1)
    searches = tables.read(made.folder("rankings"), "numbered_searches")
    test = set(searches.filter(pa.compute.equal(searches["split"], "test"))["search"].to_pylist())
    assert not test & set(table["search"].to_pylist())
    report = made.report("acceptance")
    assert report["learned"]
    assert 0 < sums.num_rows <= report["taken"]
    assert Acceptance.load(made.folder("acceptance") / "acceptance.json").reading[0] == pytest.approx(
        0.9, abs=0.1
    )


@pytest.mark.parametrize("name", ["acceptance", "demand", "completion", "estimates"])
def test_a_stage_reads_what_it_declares(name: str, data: Path, made: Workspace, tmp_path: Path) -> None:
    inputs = Inputs.at(
        data / "clicks.parquet", data / "rankings.parquet", completions=data / "completions.parquet"
    )
    stage = pipeline.stages(SETTINGS, inputs, Progress(), served=current(made.path / ROOT))[name]
    at = {earlier: shutil.copytree(made.folder(earlier), tmp_path / earlier) for earlier in stage.after}
    new = tmp_path / "new"
    new.mkdir()
    stage.make(new, at)
    assert {file.relative_to(new): file.read_bytes() for file in new.rglob("*") if file.is_file()} == {
        file.relative_to(made.folder(name)): file.read_bytes()
        for file in made.folder(name).rglob("*")
        if file.is_file() and file.name != "artefact.json"
    }


def test_without_lists_there_is_no_such_stage(data: Path) -> None:
    plain = Inputs.at(data / "clicks.parquet", data / "rankings.parquet")
    stages = pipeline.stages(CONFIG, plain, Progress())
    assert "acceptance" not in stages
    assert all("acceptance" not in stage.after for stage in stages.values())


def test_judgments_have_no_lists(data: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="only a click log"):
        pipeline.run(
            data / "clicks.parquet",
            data / "rankings.parquet",
            completions=data / "completions.parquet",
            judged=True,
            out=tmp_path / "w",
        )


def small_log(engine: Engine) -> None:
    """Two queries return document 0 at ranks 1 and 2; search 0 took query 0 and clicked document 0 at rank 1."""
    engine.load("queries", pa.table({"query": [0, 1, 2], "text": ["a", "b", "c"]}))
    engine.load("documents", pa.table({"document": [0], "document_id": ["d"], "title": ["d"]}))
    engine.load("rankings", pa.table({"query": [0, 1], "document": [0, 0], "rank": [1, 2]}))
    engine.load("propensity", pa.table({"rank": [1, 2], "p": [1.0, 0.25]}))
    engine.load(
        "numbered_searches",
        pa.table(
            {
                "search": [0, 1],
                "search_id": ["0", "1"],
                "split": ["retriever", "ranker"],
                "query": [0, 1],
                "recency": [1.0, 1.0],
            }
        ),
    )
    engine.load(
        "numbered_clicks",
        pa.table({"search": [0, 1], "document": [0, 0], "rank": [1, 2], "weight": [1.0, 1.0]}),
    )
    engine.load("instances", pa.table({"search": [0, 1], "context": [0, 1]}))
    engine.load(
        "intended", pa.table({"search": [0, 0, 0], "query": [0, 1, 2], "probability": [0.5, 0.3, 0.2]})
    )


def test_a_click_counts_for_the_intended_query_as_its_own_page_would_have_given_it(engine: Engine) -> None:
    small_log(engine)
    found = read(engine, "unbiased", intended=True)
    rows = {(row["split"], row["query"]): row for row in found.clicked.to_pylist()}
    unit = rows["ranker", 1]["weight"] / 1.0  # Kish's unit divides all weights
    assert rows["retriever", 0]["weight"] == pytest.approx(0.5 * unit)
    assert rows["retriever", 1]["weight"] == pytest.approx(0.3 * (0.25 / 1.0) * unit)
    assert rows["retriever", 1]["weight"] / rows["retriever", 1]["ips_weight"] == pytest.approx(0.25)
    assert ("retriever", 2) not in rows  # it does not return the document
    searches = {(row["split"], row["query"]): row["weight"] for row in found.searches.to_pylist()}
    assert searches == {
        ("retriever", 0): 0.5,
        ("retriever", 1): 0.3,
        ("retriever", 2): 0.2,
        ("ranker", 1): 1.0,
    }
    plain = read(engine, "unbiased")
    assert plain.searches["weight"].to_pylist() == [1.0, 1.0]


def test_the_command_counts_what_was_issued_also_where_a_run_has_counted_what_was_intended(
    data: Path, made: Workspace
) -> None:
    learned, intended = learn_from(made, data / "completions.parquet"), wanted_in(data, made)
    issued = popularity(made.folder("rankings"), "retriever", "ranker")
    assert learned.searches.sum() == pytest.approx(issued.sum() + SMOOTHING * len(issued))
    assert distance(learned.searches, intended) < distance(issued, intended)


def test_lists_of_another_log_whose_searches_have_the_same_numbers(
    data: Path, made: Workspace, tmp_path: Path
) -> None:
    """A run refuses them; the command learns from them as from lists without search_id."""
    table = pq.read_table(data / "completions.parquet")
    place = table.column_names.index("search_id")
    other, unnamed = tmp_path / "other.parquet", tmp_path / "unnamed.parquet"
    pq.write_table(table.set_column(place, "search_id", pa.compute.add(table["search_id"], 1)), other)
    pq.write_table(table.drop_columns("search_id"), unnamed)
    with pytest.raises(LogError, match="whose search issued another query in the log"):
        pipeline.run(
            data / "clicks.parquet",
            data / "rankings.parquet",
            completions=other,
            out=tmp_path / "workspace",
            config=SETTINGS,
        )
    learned, expected = learn_from(made, other), learn_from(made, unnamed)
    assert learned.model.reading.tolist() == expected.model.reading.tolist()
    assert learned.data.counts[OTHER_QUERY] > 0
