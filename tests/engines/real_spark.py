"""Engines of tables that the tests start: Sail, and Apache Spark if it is installed beside its client."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from wayword.engines import local_server

INSTALLED = Path(sys.prefix) / "spark" / "pyspark"
"""Where `make test-all` installs Apache Spark."""


def spark_home() -> Path:
    """Apache Spark with Java; a test without them is skipped, but fails where `WAYWORD_NEEDS_SPARK` is set."""
    home = Path(os.environ.get("SPARK_HOME", INSTALLED))
    if not (home / "jars").is_dir():
        reason = f"no Apache Spark in {home}: `make .venv/.spark` installs it"
        if os.environ.get("WAYWORD_NEEDS_SPARK"):
            pytest.fail(reason)
        pytest.skip(reason)
    return home


@contextmanager
def address(engine: str) -> Iterator[str]:
    """The address of a server of this engine."""
    pytest.importorskip("pyspark")
    if engine == "sail":
        pytest.importorskip("pysail")
    server = local_server.sail() if engine == "sail" else local_server.spark(spark_home(), master="local[2]")
    with server as found:
        yield found
