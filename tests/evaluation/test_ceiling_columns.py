"""The ceiling where the log has a context column that the world's law speaks of."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from test_ceiling import LAW, beaten, cuts_of, intents_of, rankings_of

import reference
from reference import Intent
from shop import PARTS, Shop, make_world, open_shop, with_parts
from wayword.completion.candidates import Candidates
from wayword.config import PrefixConfig
from wayword.engines import Engine
from wayword.engines.duck import DuckDB
from wayword.evaluation.ceiling import ceiling

RIGHT = 0.7


@pytest.fixture(scope="module")
def parts_shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """The shop whose log says which part people browse."""
    return open_shop(tmp_path_factory.mktemp("parts"), with_parts(make_world()), RIGHT)


@pytest.fixture
def engine(parts_shop: Shop) -> Iterator[Engine]:
    database = DuckDB(threads=1)
    parts_shop.fill(database)
    yield database
    database.close()


def intents_saying(shop: Shop, part: str) -> list[Intent]:
    """The intents, each as probable as it is together with a log that says `part`."""
    assert shop.world.context_values is not None
    true, intents = shop.world.context_values.to_pylist(), intents_of(shop.world)
    browsed = {p: sum(i.probability for i, t in zip(intents, true, strict=True) if t == p) for p in PARTS}
    return [
        replace(
            intent,
            probability=intent.probability
            * (RIGHT if part == own else (1 - RIGHT) * browsed[part] / (1 - browsed[own])),
        )
        for intent, own in zip(intents, true, strict=True)
    ]


def contexts_of(engine: Engine) -> list[dict[str, str]]:
    return engine.arrow("SELECT * FROM contexts ORDER BY context").to_pylist()


def lists(engine: Engine, truth: Path, k: int) -> Candidates:
    """The ceiling of every context."""
    return ceiling(engine, truth, np.arange(len(contexts_of(engine)), dtype=np.int32), PrefixConfig(), k)


def same(one: Candidates, other: Candidates) -> bool:
    return one.context.tolist() == other.context.tolist() and one.query.tolist() == other.query.tolist()


@pytest.mark.parametrize("k", [1, 5])
def test_the_list_is_that_of_brute_force_over_all_queries(parts_shop: Shop, engine: Engine, k: int) -> None:
    contexts, rankings = contexts_of(engine), rankings_of(parts_shop.world)
    assert {row["context_part"] for row in contexts} == set(PARTS)
    intents = {part: intents_saying(parts_shop, part) for part in PARTS}
    found = lists(engine, parts_shop.data / "truth.parquet", k)
    for row in contexts:
        expected = reference.ceiling(row["prefix"], intents[row["context_part"]], cuts_of, rankings, LAW, k)
        assert found.query[found.context == row["context"]].tolist() == expected


def test_masses_are_summed_over_a_column_that_the_log_lacks(parts_shop: Shop, engine: Engine) -> None:
    engine.load("contexts", engine.arrow("contexts").drop_columns(["context_part"]))
    rankings, intents = rankings_of(parts_shop.world), intents_of(parts_shop.world)
    found = lists(engine, parts_shop.data / "truth.parquet", 5)
    for row in contexts_of(engine):
        expected = reference.ceiling(row["prefix"], intents, cuts_of, rankings, LAW, 5)
        assert found.query[found.context == row["context"]].tolist() == expected


def test_a_column_that_the_truth_lacks_says_nothing(parts_shop: Shop, engine: Engine) -> None:
    expected = lists(engine, parts_shop.data / "truth.parquet", 5)
    contexts = engine.arrow("contexts")
    engine.load("contexts", contexts.append_column("context_device", pa.array(["tv"] * len(contexts))))
    assert same(lists(engine, parts_shop.data / "truth.parquet", 5), expected)


@pytest.mark.parametrize("named", [pa.int64(), pa.float64(), pa.string()], ids=str)
def test_numbers_compare_as_the_log_stores_them(
    parts_shop: Shop, engine: Engine, tmp_path: Path, named: pa.DataType
) -> None:
    """A log of the parts 0, 1 and 2 has a column of numbers, whether the truth has numbers or their texts."""
    expected = lists(engine, parts_shop.data / "truth.parquet", 5)
    order, contexts = pa.array(PARTS), engine.arrow("contexts").sort_by("context")
    numbers = pc.index_in(contexts["context_part"], value_set=order).cast(pa.float64())
    engine.load("contexts", contexts.drop_columns(["context_part"]).append_column("context_part", numbers))
    table = pq.read_table(parts_shop.data / "truth.parquet")
    said = pc.index_in(table["part"], value_set=order).cast(named)
    pq.write_table(table.drop_columns(["part"]).append_column("part", said), tmp_path / "truth.parquet")
    assert same(lists(engine, tmp_path / "truth.parquet", 5), expected)


@pytest.mark.parametrize("nothing", [None, ""])
def test_a_log_that_says_nothing_is_a_value_of_its_own(
    parts_shop: Shop, engine: Engine, tmp_path: Path, nothing: str | None
) -> None:
    """An empty text is missing in a log, so it is in the truth."""
    expected = lists(engine, parts_shop.data / "truth.parquet", 5)
    engine.step("contexts", "SELECT * REPLACE (NULLIF(context_part, 'home') AS context_part) FROM contexts")
    table = pq.read_table(parts_shop.data / "truth.parquet")
    said = pc.if_else(pc.equal(table["part"], "home"), pa.scalar(nothing, pa.string()), table["part"])
    pq.write_table(table.drop_columns(["part"]).append_column("part", said), tmp_path / "truth.parquet")
    assert same(lists(engine, tmp_path / "truth.parquet", 5), expected)


def value(found: Candidates, contexts: list[dict[str, str]], shop: Shop) -> float:
    """Σ over (prefix, part) of P(prefix, part) · E[û of the first query], up to a factor, by the law."""
    rankings, total = rankings_of(shop.world), 0.0
    intents = {part: intents_saying(shop, part) for part in PARTS}
    for row, query in zip(contexts, found.query.tolist(), strict=True):
        for intent in intents[row["context_part"]]:
            admissible = cuts_of(intent.query)
            shown = admissible.count(row["prefix"]) / len(admissible)
            utility = reference.true_utility(intent.relevant, query, intent.query, rankings, LAW)
            total += intent.probability * shown * utility
    return total


def test_who_knows_the_column_expects_more(parts_shop: Shop, shop: Shop, engine: Engine) -> None:
    """On the same contexts, under the law: the ceiling given prefix and part against the one given the prefix."""
    contexts = contexts_of(engine)
    knowing = lists(engine, parts_shop.data / "truth.parquet", 1)
    unaware = lists(engine, shop.data / "truth.parquet", 1)
    assert value(knowing, contexts, parts_shop) > value(unaware, contexts, parts_shop)


def test_no_policy_beats_it(parts_shop: Shop) -> None:
    assert beaten(parts_shop.workspace) == []
