"""What a Spark engine cannot do is said in one sentence, before work is done where it can be known before."""

import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from real_spark import address

from commands import wayword
from wayword.engines import Engine, cluster, local_server, spark_errors
from wayword.engines.storage import Storage
from wayword.errors import ClusterError, ConfigError, LogError, WaywordError
from wayword.pipeline import run


def refused(world: Path, out: Path, *options: str) -> str:
    """What the command says; it ends with code 2 and leaves no artefact."""
    arguments = [
        "run",
        "--log",
        world / "clicks.parquet",
        "--rankings",
        world / "rankings.parquet",
        "--out",
        out,
    ]
    ended = wayword(*arguments, *options)
    assert ended.code == 2, ended.err
    assert not list(out.glob("artefacts/*"))
    return ended.err


pytest.importorskip("pysail")


def test_nothing_answers_at_the_address(world: Path, tmp_path: Path) -> None:
    port = local_server.free_port()
    said = refused(world, tmp_path / "out", "--engine", f"sc://127.0.0.1:{port}")
    assert f"Nothing answers at 127.0.0.1:{port}" in said
    assert "start-connect-server.sh" in said


@pytest.mark.parametrize("engine", ["spark://host:7077", "localhost:15002", "sc://", "yarn"])
def test_what_is_no_address_is_refused(engine: str) -> None:
    with pytest.raises(ConfigError, match=r"expected sc://HOST:PORT"):
        cluster.check(engine, None)


def test_a_cluster_elsewhere_needs_a_folder() -> None:
    with pytest.raises(ConfigError, match="--engine-folder"):
        cluster.check("sc://spark.example:15002", None)
    cluster.check("sc://spark.example:15002", "s3://bucket/folder")
    cluster.check("sc://localhost", None)


def test_a_folder_or_a_url_without_an_engine_is_refused(world: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no engine"):
        cluster.check(None, "s3://bucket/folder")
    with pytest.raises(ConfigError, match="no engine to read it"):
        run((world / "clicks.parquet").as_uri(), world / "rankings.parquet", out=tmp_path / "out")


def test_a_url_of_nothing_is_refused(world: Path, tmp_path: Path) -> None:
    missing = (tmp_path / "missing.parquet").as_uri()
    with pytest.raises(LogError, match=f"There is no file {missing}"):
        run(missing, world / "rankings.parquet", out=tmp_path / "out", engine="sc://localhost")


def test_without_the_extra_it_is_named(world: Path, tmp_path: Path) -> None:
    files = [str(world / "clicks.parquet"), str(world / "rankings.parquet"), str(tmp_path / "out")]
    code = f"""
import sys
sys.modules["pyspark"] = sys.modules["pysail"] = None
from wayword.pipeline import run
from wayword.errors import MissingExtra
log, rankings, out = {files!r}
for engine, extra in (("sc://localhost", "spark"), ("sail", "sail")):
    try:
        run(log, rankings, out=out, engine=engine)
    except MissingExtra as problem:
        print(extra, f"extra '{{extra}}'" in str(problem))
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.returncode) == ("spark True\nsail True\n", 0), ended.stderr


def java(folder: Path, said: str) -> Path:
    """A program `java` that says this is its version."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{said}' >&2\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return folder


def test_without_java_it_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClusterError, match=r"Found no Java.*needs Java 17 or 21.*or use the engine sail"):
        local_server.java_home()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ClusterError, match=r"JAVA_HOME = .* has none"):
        local_server.java_home()


@pytest.mark.parametrize(
    ("said", "found"),
    [('openjdk version "11.0.2"', "Java 11"), ('java version "1.8.0_402"', "Java 8"), ("?", "unknown")],
)
def test_a_wrong_java_is_named(
    said: str, found: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path, said)))
    with pytest.raises(ClusterError, match=f"Found Java.*{found.removeprefix('Java ')}.*needs Java 17 or 21"):
        local_server.java_home()


def test_without_apache_spark_it_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    with pytest.raises(ClusterError, match="set SPARK_HOME, or use the engine sail"):
        local_server.spark_home()


def test_a_folder_that_cannot_be_written_is_refused_before_work(world: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said = refused(world, tmp_path / "out", "--engine", "sail", "--engine-folder", str(tmp_path / "file"))
    assert "cannot be written" in said
    assert "--engine-folder" in said


def test_a_failing_step_shows_its_sql(sail_engine: Callable[[], Engine]) -> None:
    engine = sail_engine()
    try:
        with pytest.raises(ClusterError, match=r"(?s)The step 'wrong' failed: .*SELECT nothing FROM nowhere"):
            engine.step("wrong", "SELECT nothing FROM nowhere")
    finally:
        engine.close()


def test_a_server_that_goes_away_is_said(tmp_path: Path) -> None:
    with address("sail") as server, cluster.opened(server) as session:
        engine = cluster.engines_of(session, None, tmp_path)[1]()
        engine.load("one", pa.table({"one": [1]}))
    problem = ConnectionError("StatusCode.UNAVAILABLE: failed to connect to all addresses")
    with (
        pytest.raises(WaywordError, match="cannot be reached any more"),
        spark_errors.failed("step", "SELECT 1"),
    ):
        raise problem


@pytest.mark.parametrize(
    "said",
    [
        "ExecutorLostFailure (executor 1 exited caused by one of the running tasks) Command exited with code 137",
        "java.lang.OutOfMemoryError: Java heap space",
        "Container killed by YARN for exceeding memory limits. 5.5 GB of 5.5 GB physical memory used",
        "Resources exhausted: Failed to allocate additional 64.0 MB for HashJoinInput",
    ],
)
def test_an_executor_out_of_memory_is_said(said: str) -> None:
    message = str(spark_errors.sentence("The step 'counts'", RuntimeError(f"[INTERNAL]\n{said}\n\tat stack")))
    assert message.startswith("The step 'counts' ran out of memory on an executor. Give executors more")
    assert said in message


@pytest.mark.slow
def test_a_step_that_fills_the_heap_is_said(tmp_path: Path) -> None:
    """A real heap: a group whose values need more memory than the task has."""
    from real_spark import spark_home

    settings = {"spark.driver.memory": "512m", "spark.task.maxFailures": "1"}
    with (
        local_server.spark(spark_home(), master="local[1]", settings=settings) as server,
        cluster.opened(server) as session,
    ):
        engine = cluster.engines_of(session, None, tmp_path)[1]()
        sql = "SELECT size(collect_list(concat(CAST(id AS STRING), repeat('x', 200)))) AS n FROM range(20000000)"
        with pytest.raises(ClusterError, match=r"ran out of memory|cannot be reached any more"):
            engine.step("long", sql)


def test_a_folder_that_only_this_machine_sees_is_refused(tmp_path: Path) -> None:
    with address("sail") as server, cluster.opened(server) as session:
        here = Storage.at(tmp_path)
        elsewhere = Storage(f"file://{tmp_path}/elsewhere", here.files, here.path)
        with pytest.raises(ClusterError, match=r"--engine-folder|do not see the same folder"):
            cluster._check_shared(session, elsewhere)


@pytest.mark.parametrize("kind", ["binary", "timestamp"])
def test_what_a_url_has_is_read_as_a_file_is(
    kind: str, tmp_path: Path, sail_engine: Callable[[], Engine]
) -> None:
    from wayword.engines.duck import DuckDB
    from wayword.engines.remote_file import RemoteFile
    from wayword.logs.columns import as_text

    moments = pa.array(
        [0, 1_700_000_000_000_000, None], pa.timestamp("us", "UTC" if kind == "timestamp" else None)
    )
    columns = {"binary": pa.array([b"a", b"b", None], pa.binary()), "timestamp": moments}
    pq.write_table(pa.table({"one": columns[kind]}), tmp_path / "log.parquet")
    found = []
    for engine, source in (
        (DuckDB(), tmp_path / "log.parquet"),
        (sail_engine(), RemoteFile((tmp_path / "log.parquet").as_uri())),
    ):
        engine.read("raw", source)
        found.append(
            engine.arrow(
                f"SELECT input_row, {as_text(engine, 'raw', 'one')} AS one FROM raw ORDER BY 1"
            ).to_pylist()
        )
        engine.close()
    assert found[0] == found[1]


def test_rows_are_numbered_by_ranges(tmp_path: Path) -> None:
    """Many rows are numbered by ranges of the first column: as one window does, nulls last."""
    from wayword.engines.spark import Spark

    texts = [None if n % 97 == 0 else f"text {n * 7919 % 5000:04d}" for n in range(4000)]
    rows = pa.table({"text": pa.array(texts, pa.string()), "n": range(4000)})
    order = sorted(range(4000), key=lambda n: (texts[n] is None, texts[n] or "", n))
    with cluster.opened("sail") as session:
        engine = Spark(session, Storage.at(tmp_path), numbered_at_once=100)
        engine.load("rows", rows)
        engine.number("numbered", "SELECT * FROM rows", "place", "text NULLS LAST, n")
        found = engine.arrow("SELECT place, n FROM numbered ORDER BY place")
        ranges = engine.arrow("SELECT count(DISTINCT place_range) AS n FROM numbered_cut")["n"][0].as_py()
        engine.close()
    assert ranges == 11  # nine limits, and nulls
    assert found["place"].to_pylist() == list(range(4000))
    assert found["n"].to_pylist() == order
