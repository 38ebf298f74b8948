"""What several test files share: the engines, and runs that are not cheap."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shop import Shop, open_shop
from wayword.engines import Engine
from wayword.engines.duck import DuckDB

ENGINES: dict[str, Callable[[], Engine]] = {"duckdb": lambda: DuckDB(threads=1)}
"""Every table test runs on each of these."""


@pytest.fixture(params=list(ENGINES))
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    made = ENGINES[request.param]()
    yield made
    made.close()


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """A run on the log of a small world whose law is known."""
    return open_shop(tmp_path_factory.mktemp("shop"))
