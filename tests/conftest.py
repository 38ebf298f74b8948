"""What several test files share: the engines, and runs that are not cheap."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

import drifting_days
from drifting_days import Days
from runs import Made, make
from shop import Shop, open_shop
from wayword.engines import Engine, cluster
from wayword.engines.duck import DuckDB
from wayword.refresh.refresh import Refreshed, refresh
from wayword.simulation.simulate import simulate

if TYPE_CHECKING:
    from playwright.sync_api import Browser

settings.register_profile("wayword", deadline=None)
settings.load_profile("wayword")

ENGINES = ("duckdb", pytest.param("sail", marks=pytest.mark.slow))
"""Every table test runs on each of these."""


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    made: Engine = request.getfixturevalue("sail_engine")() if request.param == "sail" else DuckDB(threads=1)
    yield made
    made.close()


@pytest.fixture(scope="session")
def sail_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Engine]]:
    """Makes engines on a Sail server of this process."""
    pytest.importorskip("pysail")
    with cluster.opened("sail") as session:
        yield cluster.engines_of(session, None, tmp_path_factory.mktemp("sail"))[1]


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """A run on the log of a small world whose law is known."""
    return open_shop(tmp_path_factory.mktemp("shop"))


@pytest.fixture(scope="session")
def days(tmp_path_factory: pytest.TempPathFactory) -> Days:
    """A log of some days in which what people want changes, and a workspace of the first of them."""
    return drifting_days.make(tmp_path_factory.mktemp("days"))


@pytest.fixture(scope="session")
def refreshed(days: Days, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Refreshed]:
    """The workspace after a refresh with the next day, and what it said."""
    folder = tmp_path_factory.mktemp("refreshed")
    workspace = days.copy(folder / "workspace")
    return workspace, refresh(workspace, *days.next_day(folder))


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """1,000 clicks in the world of packages: a run takes a second or two."""
    return simulate("packages", clicks=1000, depth=10, out=tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="session")
def earlier(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """What an earlier run with another setting had made; not one artefact is the same."""
    return make(world, tmp_path_factory.mktemp("earlier"), 0.5)


@pytest.fixture(scope="session")
def undisturbed(world: Path, earlier: Made, tmp_path_factory: pytest.TempPathFactory) -> Made:  # noqa: ARG001
    """What a run leaves that nothing disturbed; made second, when the libraries are loaded."""
    return make(world, tmp_path_factory.mktemp("undisturbed"), 0.6)


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """A real Chromium."""
    from browsing import launched

    with launched() as found:
        yield found


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a real BERT of two small layers and a vocabulary of eleven words."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    target: Path = tmp_path_factory.mktemp("tiny-bert")
    vocabulary = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "video",
        "player",
        "mail",
        "client",
        "a",
        "for",
    ]
    (target / "vocab.txt").write_text("\n".join(vocabulary))
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=16,
    )
    transformers.BertModel(config).save_pretrained(target)
    transformers.BertTokenizer(str(target / "vocab.txt")).save_pretrained(target)
    return target
