"""The same log gives the same tables and lists on DuckDB, on Sail and on Apache Spark, through Spark Connect."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from real_spark import address

from wayword import pipeline
from wayword.config import Config
from wayword.engines import cluster, tables
from wayword.engines.kept import SUFFIX
from wayword.index.versions import ROOT, current
from wayword.pipeline import run
from wayword.plan import Inputs
from wayword.progress import SILENT
from wayword.simulation.simulate import simulate
from wayword.store.artefact import report_of
from wayword.store.workspace import Workspace, building

SETTINGS = Config.parse({"evaluation": {"bootstrap": 20, "sessions": 100}})
TABLES = ("log", "rankings", "contexts", "propensity", "worth")
"""The stages that fill tables with SQL alone."""


def assert_same(one: pa.Table, other: pa.Table, what: str) -> None:
    """Equal names, types, rows and their order; floats to 1e-9."""
    assert one.schema.names == other.schema.names, what
    for name in one.schema.names:
        known, found = one[name].combine_chunks(), other[name].combine_chunks()
        assert found.type == known.type, (what, name)
        assert len(found) == len(known), (what, name)
        if pa.types.is_floating(known.type):
            one_value, other_value = (c.to_numpy(zero_copy_only=False) for c in (found, known))
            np.testing.assert_allclose(
                one_value, other_value, rtol=1e-9, atol=1e-12, err_msg=f"{what}: {name}"
            )
        else:
            assert found.equals(known), (what, name)


def assert_same_tables(one: Mapping[str, Path], other: Mapping[str, Path]) -> int:
    """Compare all tables of artefacts. Returns how many there are."""
    compared = 0
    for stage, folder in one.items():
        names = {file.name.removesuffix(SUFFIX).removesuffix(".parquet") for file in folder.glob("*")}
        for name in sorted(names):
            if (folder / f"{name}.parquet").exists():
                assert_same(tables.read(folder, name), tables.read(other[stage], name), f"{stage}/{name}")
                compared += 1
    return compared


def fill(world: Path, out: Path, engine: str | None) -> tuple[dict[str, Path], dict[str, object]]:
    """The folders of the table stages, and the report of the last."""
    inputs = Inputs.at(world / "clicks.parquet", world / "rankings.parquet")
    planned = pipeline.stages_before_index(SETTINGS, inputs, SILENT)
    with cluster.opened(engine) as session, building(out, SILENT) as build:
        engines = cluster.engines_of(session, None, build.path)[1] if session else None
        with tables.tables_on(engines):
            for name in TABLES:
                build.stage(name, planned[name])
    return {name: build.folders[name] for name in TABLES}, report_of(build.folders["worth"])


def test_sail_fills_the_same_tables(world: Path, tmp_path: Path) -> None:
    pytest.importorskip("pysail")
    known, worth = fill(world, tmp_path / "duckdb", None)
    found, same_worth = fill(world, tmp_path / "sail", "sail")
    assert assert_same_tables(known, found) == 10
    assert same_worth.keys() == worth.keys()
    for name, value in worth.items():
        same = value if isinstance(value, str | None) else pytest.approx(value, rel=1e-9)
        assert same_worth[name] == same, name


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return simulate("packages", clicks=3000, depth=10, out=tmp_path_factory.mktemp("packages"))


@pytest.fixture(scope="module")
def embedded(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    out = tmp_path_factory.mktemp("embedded") / "workspace"
    return run(packages / "clicks.parquet", packages / "rankings.parquet", out=out, config=SETTINGS)


@pytest.fixture(scope="module", params=["sail", "spark"])
def server(request: pytest.FixtureRequest) -> Iterator[str]:
    with address(request.param) as found:
        yield found


@pytest.mark.slow
def test_a_run_gives_the_same_tables_and_lists(
    packages: Path, embedded: Workspace, server: str, tmp_path: Path
) -> None:
    log, rankings = ((packages / f"{name}.parquet").as_uri() for name in ("clicks", "rankings"))
    found = run(log, rankings, out=tmp_path / "workspace", config=SETTINGS, engine=server)
    stages = [stage for stage in embedded.manifest["stages"] if stage != "check"]
    folders = ({stage: one.folder(stage) for stage in stages} for one in (embedded, found))
    assert assert_same_tables(*folders) == 20
    lists, same = (current(one.path / ROOT) for one in (embedded, found))
    written = [file for file in lists.iterdir() if file.is_file() and file.suffix != ".json"]
    assert {"slots_any.npy", "slots_prefix.npy"} <= {file.name for file in written}
    for file in written:
        assert (same / file.name).read_bytes() == file.read_bytes(), file.name
    kept = [*(tmp_path / "workspace" / "tables" / "tables").iterdir()]
    assert len(kept) == len([*(tmp_path / "workspace" / "artefacts").rglob(f"*{SUFFIX}")])
    assert [one.name for one in (tmp_path / "workspace" / "tables").iterdir()] == ["tables"]


@pytest.fixture(scope="module")
def swapped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world with impressions."""
    return simulate("packages", clicks=1000, depth=10, swaps=0.5, out=tmp_path_factory.mktemp("swapped"))


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world with lists shown."""
    out = tmp_path_factory.mktemp("people")
    return pipeline.simulate_people("packages", people="lenient", lists_shown=1500, out=out)


def assert_same_run(world: Path, out: Path, settings: Config, **given: Any) -> None:
    """What a run says on DuckDB and on Sail is the same."""
    log = world / "clicks.parquet"
    made = [
        run(log, out=out / f"{engine}", config=settings, engine=engine, **given) for engine in (None, "sail")
    ]
    stages = made[0].manifest["stages"]
    known, found = ({stage: one.folder(stage) for stage in stages} for one in made)
    assert assert_same_tables(known, found) > 15


@pytest.mark.slow
def test_impressions_give_the_same(swapped: Path, tmp_path: Path) -> None:
    pytest.importorskip("pysail")
    settings = Config.parse(SETTINGS.saved() | {"propensity": {"source": "log"}})
    given = {"rankings": swapped / "rankings.parquet", "impressions": swapped / "impressions.parquet"}
    assert_same_run(swapped, tmp_path, settings, **given)


@pytest.mark.slow
def test_an_embedded_ranker_and_the_truth_give_the_same(swapped: Path, tmp_path: Path) -> None:
    pytest.importorskip("pysail")
    given = {"documents": swapped / "documents.parquet", "truth": swapped / "truth.parquet"}
    assert_same_run(swapped, tmp_path, SETTINGS, **given)


@pytest.mark.slow
def test_lists_shown_give_the_same(people: Path, tmp_path: Path) -> None:
    pytest.importorskip("pysail")
    given = {"rankings": people / "rankings.parquet", "completions": people / "completions.parquet"}
    assert_same_run(people, tmp_path, SETTINGS, **given)
