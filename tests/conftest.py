from collections.abc import Callable, Iterator

import pytest

from wayword.engines import Engine
from wayword.engines.duck import DuckDB

ENGINES: dict[str, Callable[[], Engine]] = {"duckdb": lambda: DuckDB(threads=1)}
"""Every table test runs on each of these."""


@pytest.fixture(params=list(ENGINES))
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    made = ENGINES[request.param]()
    yield made
    made.close()
