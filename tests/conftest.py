"""What several test files share and is not cheap."""

import pytest

from shop import Shop, open_shop


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """A run on the log of a small world whose law is known."""
    return open_shop(tmp_path_factory.mktemp("shop"))
