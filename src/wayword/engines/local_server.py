"""Spark Connect servers on this machine, on loopback: Sail in this process, or Apache Spark, which needs Java."""

import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from wayword.errors import ClusterError, MissingExtra
from wayword.store.stage import threads

HOST = "127.0.0.1"
JAVA = (17, 21)
"""The oldest and the newest Java that Spark 4 is made for."""
STARTED_WITHIN = 120.0
"""Seconds."""
_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


@contextmanager
def sail() -> Iterator[str]:
    """The address of a Sail server, which stops at the end."""
    try:
        from pysail.spark import SparkConnectServer
    except ImportError as problem:
        raise MissingExtra("sail", "The engine sail") from problem
    server = SparkConnectServer(HOST, 0)
    server.start(background=True)
    _, port = server.listening_address
    try:
        yield f"sc://{HOST}:{port}"
    finally:
        server.stop()


@contextmanager
def spark(
    home: Path | None = None, *, master: str = "local[*]", settings: Mapping[str, str] | None = None
) -> Iterator[str]:
    """The address of an Apache Spark server, which stops at the end; `home` has its `bin` and `jars`."""
    home, java, port = home or spark_home(), java_home(), free_port()
    submit = [str(home / "bin" / "spark-submit"), "--class", _SERVER, "--master", master]
    given = {
        "spark.connect.grpc.binding.address": HOST,
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.host": HOST,
        "spark.driver.bindAddress": HOST,
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": str(2 * threads()),
        **(settings or {}),
    }
    options = [part for name, value in given.items() for part in ("--conf", f"{name}={value}")]
    with tempfile.TemporaryDirectory(prefix="wayword-spark-", ignore_cleanup_errors=True) as folder:
        log = Path(folder) / "log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [*submit, *options, "--name", "wayword", "spark-internal"],
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=environment(home, java),
            )
        try:
            _wait(process, port, log)
            yield f"sc://{HOST}:{port}"
        finally:
            stop(process)


def environment(home: Path, java: Path) -> dict[str, str]:
    """The environment of a process of Spark."""
    return {
        **os.environ,
        "SPARK_HOME": str(home),
        "JAVA_HOME": str(java),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_NO_DAEMONIZE": "1",
    }


def stop(process: "subprocess.Popen[bytes]") -> None:
    """End a process, and wait until it is gone."""
    process.terminate()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def spark_home() -> Path:
    """Where Apache Spark is installed: `SPARK_HOME`, or the package pyspark with its jars."""
    given = os.environ.get("SPARK_HOME")
    found = find_spec("pyspark")
    places = (
        [Path(given)]
        if given
        else [Path(place) for place in (found and found.submodule_search_locations) or ()]
    )
    for place in places:
        if (place / "bin" / "spark-submit").exists() and any((place / "jars").glob("spark-connect_*.jar")):
            return place
    where = f"SPARK_HOME = {given}" if given else "no SPARK_HOME"
    raise ClusterError(
        f"Found {where} and no Apache Spark with Spark Connect there. Install Spark 4 and set SPARK_HOME, or use the "
        "engine sail, which needs no Java."
    )


def java_home() -> Path:
    """The home of a Java that Spark 4 runs on; an error says which was found."""
    given = os.environ.get("JAVA_HOME")
    command = Path(given) / "bin" / "java" if given else shutil.which("java")
    expected = f"Spark 4 needs Java {JAVA[0]} or {JAVA[1]}: install it (Debian: default-jre-headless) and set JAVA_HOME"
    if not command or not Path(command).exists():
        where = f"JAVA_HOME = {given} has none" if given else "there is none on this machine"
        raise ClusterError(f"Found no Java: {where}. {expected}, or use the engine sail, which needs none.")
    said = subprocess.run([str(command), "-version"], capture_output=True, text=True, check=False)
    version = java_version(said.stderr + said.stdout)
    if version is None or not JAVA[0] <= version:
        raise ClusterError(f"Found Java {version or 'of an unknown version'} ({command}). {expected}.")
    return Path(command).resolve().parent.parent


def java_version(said: str) -> int | None:
    """The major version in what `java -version` says.

    >>> java_version('openjdk version "17.0.15" 2025-04-15'), java_version('java version "1.8.0_402"')
    (17, 8)
    """
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found[1]) if found else None


def free_port() -> int:
    """A port of loopback on which nothing listens now."""
    with socket.socket() as one:
        one.bind((HOST, 0))
        return int(one.getsockname()[1])


def _wait(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    """Wait until the server answers."""
    deadline = time.monotonic() + STARTED_WITHIN
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection((HOST, port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.2)
    lines = log.read_text(errors="replace").strip().splitlines()
    why = next((line for line in reversed(lines) if "rror" in line or "xception" in line), "it said nothing")
    raise ClusterError(f"Apache Spark did not start: {why.strip()[:500]}")
