"""The Spark engine of a run: found by its address, by a session, or started on this machine; and its folder.

What can be known before work is done is checked first: the extra, Java, the address, and that the engine and this
machine see one folder.
"""

import socket
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pyarrow as pa

from wayword.engines import Engine, spark_errors
from wayword.engines.kept import pruned
from wayword.engines.storage import STEPS, Storage, is_url
from wayword.errors import ClusterError, ConfigError, MissingExtra

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEME = "sc"
DEFAULT_PORT = 15002
SAIL, LOCAL = "sail", "spark"
"""Engines that are started on this machine."""
REACHED_WITHIN = 10.0
"""Seconds in which the address must answer."""
ATTEMPTS = 6
"""A request that gets no answer is sent so many times again, after breaks that grow."""
LONGEST_BREAK = 15_000
"""Milliseconds."""
PROBE = "probe-"
TABLES = "tables"
"""The folder of the engine's tables in a workspace, where the engine runs on this machine."""
_SETTINGS = {"spark.sql.session.timeZone": "UTC", "spark.sql.ansi.enabled": "true"}


@contextmanager
def opened(engine: "str | SparkSession | None") -> Iterator["SparkSession | None"]:
    """A session of the engine: an address (sc://HOST:PORT), `sail` or `spark` to start one here, or a session."""
    if engine is None:
        yield None
    elif not isinstance(engine, str):
        _settle(engine)
        yield engine
    elif engine in (SAIL, LOCAL):
        from wayword.engines import local_server

        started = local_server.sail() if engine == SAIL else local_server.spark()
        with started as address, _connected(address) as session:
            yield session
    else:
        with _connected(engine) as session:
            yield session


def check(engine: "str | SparkSession | None", folder: str | None) -> None:
    """Raise an error for an engine or a folder that cannot be meant."""
    if engine is None:
        if folder is not None:
            raise ConfigError(
                f"Found the engine's folder {folder} and no engine; give one (--engine sc://HOST:PORT)."
            )
        return
    if isinstance(engine, str) and engine not in (SAIL, LOCAL):
        host, _ = address_of(engine)
        if folder is None and not _is_here(host):
            raise ConfigError(
                f"Found the engine {engine} and no folder for its tables; give one that the engine and this machine "
                "can both read and write (--engine-folder s3://BUCKET/FOLDER)."
            )


def address_of(engine: str) -> tuple[str, int]:
    """Host and port of an address.

    >>> address_of("sc://spark.example:15003/;token=x"), address_of("sc://localhost")
    (('spark.example', 15003), ('localhost', 15002))
    """
    try:
        parts = urlsplit(engine)
        host, port = parts.hostname, parts.port or DEFAULT_PORT
    except ValueError:
        host, port = None, 0
    if not host or parts.scheme != SCHEME:
        raise ConfigError(
            f"Found the engine {engine!r}; expected sc://HOST:PORT (Spark Connect), or {SAIL} or {LOCAL} to start one "
            "on this machine."
        )
    return host, port


def engines_of(
    session: "SparkSession", folder: str | None, workspace: Path
) -> tuple[Storage, Callable[[], Engine]]:
    """The storage of a workspace's tables, and what makes an engine for each stage. Raises `ClusterError` unless the
    engine and this machine see the same folder."""
    from wayword.engines.spark import Spark

    storage = Storage.at(folder if folder and is_url(folder) else Path(folder or workspace / TABLES))
    for (
        left
    ) in storage.folders():  # by a run that was killed: the workspace is locked, and the folder is its own
        if left.startswith((STEPS, PROBE)):
            storage.under(left).remove()
    _check_shared(session, storage)
    return storage, lambda: Spark(session, storage)


def prune(storage: Storage, artefacts: Path) -> None:
    """Remove tables that no artefact names any more."""
    pruned(storage.under(TABLES), artefacts)


@contextmanager
def _connected(address: str) -> Iterator["SparkSession"]:
    host, port = address_of(address)
    builder = _builder()
    try:
        socket.create_connection((host, port), timeout=REACHED_WITHIN).close()
    except OSError as problem:
        raise ClusterError(
            f"Nothing answers at {host}:{port} ({problem.strerror or problem}). Expected a Spark Connect server there: "
            "start it (sbin/start-connect-server.sh, or `sail spark server`), or correct --engine."
        ) from problem
    with spark_errors.failed(f"connecting to {host}:{port}", ""):
        session = builder.remote(address).create()
        _give_up_soon(session)
    try:
        _settle(session)
        yield session
    finally:
        session.stop()


def _give_up_soon(session: "SparkSession") -> None:
    """Ask a server that does not answer again for half a minute only: the client's default is ten minutes."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    session.client.set_retry_policies([DefaultPolicy(max_retries=ATTEMPTS, max_backoff=LONGEST_BREAK)])


def _builder() -> "SparkSession.Builder":
    main = vars(sys.modules["__main__"])
    bare = "__file__" not in main
    try:
        # Without a file, as in `python -c`, a program is taken for a doctest by pyspark-client, which then ends it.
        main.setdefault("__file__", "")
        from pyspark.sql.connect.session import SparkSession
    except ImportError as problem:
        raise MissingExtra("spark", "A Spark engine") from problem
    finally:
        if bare:
            del main["__file__"]
    return SparkSession.builder


def _settle(session: "SparkSession") -> None:
    """The settings on which equal tables depend."""
    with spark_errors.failed("opening a session", ""):
        for name, value in _SETTINGS.items():
            session.conf.set(name, value)


def _is_here(host: str) -> bool:
    return host in ("localhost", "127.0.0.1", "::1")


def _check_shared(session: "SparkSession", storage: Storage) -> None:
    """Write a row there with the engine, and read it here."""
    probe = storage.under(f"{PROBE}{uuid.uuid4().hex[:12]}")
    written, uploaded = probe.under("written"), probe.under("uploaded")
    try:
        try:
            uploaded.write(pa.table({"one": [1]}))
        except (OSError, pa.ArrowException) as problem:
            raise spark_errors.not_writable(storage.url, problem) from problem
        try:
            seen = session.read.parquet(uploaded.url).count()
            session.sql("SELECT 1 AS one").write.parquet(written.url)
        except Exception as problem:
            raise spark_errors.not_writable(f"{storage.url} (by the engine)", problem) from problem
        if seen != 1 or not written.listing():
            raise ClusterError(
                f"The engine and this machine do not see the same folder {storage.url}. Give one that both can read "
                "and write (--engine-folder s3://BUCKET/FOLDER)."
            )
    finally:
        probe.remove()
