"""What is not available leaves demand, pages and lists at once, and nothing is learned again."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shop as small
from commands import wayword
from wayword.completion import stage as completion
from wayword.config import Config
from wayword.engines import tables
from wayword.index.versions import ROOT, current
from wayword.pipeline import index_of, run, with_availability
from wayword.progress import Progress
from wayword.rankings.availability import STAGE
from wayword.serving.completer import Completer
from wayword.simulation.simulate import write_world
from wayword.store.artefact import report_of
from wayword.store.workspace import Workspace

CONFIG = Config.parse({"evaluation": {"sessions": 20, "bootstrap": 10}})
EMPTIED = "lamp small"
SILENT = Progress()
TYPED = ["l", "la", "lam", "lamp", "lamp s", "lan", "lock", "lab"]


class Made(Progress):
    """Remembers what was made."""

    def __init__(self) -> None:
        self.stages: list[str] = []

    def finish(self, made: list[str]) -> None:
        self.stages = made


@dataclass(frozen=True)
class Shops:
    """A workspace made with all documents, and one made without some, from the same files but for one column."""

    folder: Path
    all: Workspace
    some: Workspace
    gone: list[str]

    def documents(self, name: str) -> Path:
        return self.folder / f"{name}.parquet"


@pytest.fixture(scope="module")
def shops(tmp_path_factory: pytest.TempPathFactory) -> Shops:
    """One query returns nothing but what is gone: its eight documents but for those that another query needs."""
    folder = tmp_path_factory.mktemp("shops")
    world = small.make_world()
    data = write_world(world, clicks=1500, out=folder / "data", seed=3)
    ranked = world.rankings.to_pylist()
    gone = sorted(row["document"] for row in ranked if row["query"] == EMPTIED)
    for name, missing in (("all", []), ("some", gone)):
        available = [document not in missing for document in small.DOCUMENTS]
        table = {"document": small.DOCUMENTS, "title": small.DOCUMENTS, "available": available}
        pq.write_table(pa.table(table), folder / f"{name}.parquet")
    every, some = (
        run(
            data / "clicks.parquet",
            data / "rankings.parquet",
            documents=folder / f"{name}.parquet",
            out=folder / name,
            config=CONFIG,
        )
        for name in ("all", "some")
    )
    return Shops(folder, every, some, gone)


def served(workspace: Workspace) -> list[list[tuple[str, float]]]:
    completer = Completer.open(workspace)
    return [[(one.query, one.score) for one in completer.complete(text, 8)] for text in TYPED]


def folders(workspace: Workspace) -> dict[str, Path]:
    return {stage: workspace.folder(stage) for stage in workspace.manifest["stages"]}


def test_demand_and_pages_are_those_of_the_available_documents(shops: Shops) -> None:
    """Against dense matrices."""
    before, after = (completion.load_lists(folders(workspace)) for workspace in (shops.all, shops.some))
    names = tables.read(shops.all.folder("rankings"), "documents")["document_id"].to_pylist()
    had = np.array([name not in shops.gone for name in names])
    demand, exposure = (
        matrix.toarray()
        for matrix in (
            before.retriever.graph.demand.matrix(len(names)),
            before.retriever.graph.exposure.matrix(len(small.QUERIES)),
        )
    )
    graph = after.retriever.graph
    assert graph.demand.matrix(len(names)).toarray() == pytest.approx(demand * had)
    assert graph.exposure.matrix(len(small.QUERIES)).toarray() == pytest.approx(exposure * had[:, None])
    whole = np.einsum("qa,aq->q", demand, exposure)
    left = np.einsum("qa,aq->q", demand * had, exposure)
    assert after.retriever.own_utility == pytest.approx(before.retriever.own_utility * left / whole, rel=1e-5)
    empty = (exposure * had[:, None]).sum(axis=0) == 0
    assert [query for query, gone in zip(small.QUERIES, empty, strict=True) if gone] == [EMPTIED]
    assert after.retriever.popularity == pytest.approx(np.where(empty, 0, before.retriever.popularity))
    assert after.queries.pages.matrix(len(names)).toarray() == pytest.approx((exposure * had[:, None]).T)


def test_the_served_pages_show_only_what_is_available(shops: Shops) -> None:
    for workspace, missing in ((shops.all, []), (shops.some, shops.gone)):
        index = Completer.open(workspace).served.index
        shown = {
            index.pages.document(result.number).document
            for query in range(len(small.QUERIES))
            for result in index.pages.of_query(query)
        }
        assert shown == set(small.DOCUMENTS) - set(missing)


def test_a_query_without_available_documents_is_not_shown(shops: Shops) -> None:
    assert EMPTIED in {query for listed in served(shops.all) for query, _ in listed}
    assert EMPTIED not in {query for listed in served(shops.some) for query, _ in listed}
    report = report_of(current(shops.some.path / ROOT))
    assert report["withheld: nothing available"] == 1


@pytest.mark.slow
def test_a_run_with_another_availability_learns_nothing_and_serves_what_the_index_alone_serves(
    shops: Shops, tmp_path: Path
) -> None:
    first, expected = served(shops.all), served(shops.some)
    assert first != expected
    out = tmp_path / "workspace"
    data = shops.folder / "data"
    files = data / "clicks.parquet", data / "rankings.parquet"
    run(*files, documents=shops.documents("all"), out=out, config=CONFIG)
    progress = Made()
    run(*files, documents=shops.documents("some"), out=out, config=CONFIG, reporter=progress)
    assert progress.stages == [STAGE, "index", "estimates"]
    assert served(Workspace.open(out)) == expected
    again = with_availability(Workspace.open(out), shops.documents("all"), SILENT)
    assert served(again) == expected  # until the index is made
    index_of(again, again.config, SILENT)
    assert served(Workspace.open(out)) == first


def test_the_command_applies_it_and_evaluates_what_is_left(shops: Shops, tmp_path: Path) -> None:
    out = tmp_path / "workspace"
    data = shops.folder / "data"
    run(data / "clicks.parquet", data / "rankings.parquet", out=out, config=CONFIG)
    before = Workspace.open(out).report("estimates")["test searches with a click"]
    done = wayword("index", out, "--documents", shops.documents("some"))
    assert done.code == 0, done.err
    assert "nothing available 1" in done.err
    assert served(Workspace.open(out)) == served(shops.some)
    refused = wayword("index", out, "--documents", shops.documents("all"), "--versions")
    assert refused.code == 2
    assert "builds no index" in refused.err
    assert wayword("evaluate", out).code == 0
    found = Workspace.open(out)
    assert found.report("estimates")["test searches with a click"] < before
    clicks = tables.read(found.folder("rankings"), "numbered_clicks")["document"].to_pylist()
    names = tables.read(found.folder("rankings"), "documents")["document_id"].to_pylist()
    assert {names[document] for document in clicks} & set(shops.gone)
