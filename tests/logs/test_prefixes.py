import hashlib
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from scipy.stats import chisquare

from inputs import Row
from wayword.config import PrefixConfig
from wayword.engines import Engine
from wayword.errors import LogError
from wayword.logs import prefixes
from wayword.text import cuts

TEXTS = ["tv stand", "tv", "x", "mail reader", "👩‍🚀 moon", "กำลัง", "a b c"]


def search(number: int, **other: Any) -> Row:
    row = {"search": number, "search_id": f"s{number}", "split": ("retriever", "ranker", "test")[number % 3]}
    return (
        row | {"text": TEXTS[number % 7], "prefix": None, "untyped": False, "clicked": number % 5 > 0} | other
    )


def contexts(
    engine: Engine, rows: list[Row], config: PrefixConfig, *columns: str
) -> tuple[list[Row], dict[str, int]]:
    kinds = {"prefix": pa.string()}
    engine.load(
        "numbered_searches", pa.table({n: pa.array([row[n] for row in rows], kinds.get(n)) for n in rows[0]})
    )
    clicked = [row["search"] for row in rows if row["clicked"]]
    engine.load("numbered_clicks", pa.table({"search": pa.array(clicked, pa.int64())}))
    report = prefixes.build(engine, config, columns)
    joined = "SELECT * FROM instances JOIN contexts USING (context) ORDER BY search, pass"
    return engine.arrow(joined).to_pylist(), report


def slow_contexts(rows: list[Row], config: PrefixConfig) -> list[tuple[int, int, str]]:
    """(search, pass, prefix), one search and pass at a time."""
    found = []
    for row in rows:
        training = row["split"] == "retriever"
        if row["prefix"] is not None:
            found.append((row["search"], 0, row["prefix"]))
        elif not row["untyped"] and (row["clicked"] or not training):
            admissible = cuts(row["text"], start=config.start, min_chars=config.min_chars)
            for number in range(config.passes if training else 1):
                key = f"{row['search_id']}/{number}/{config.seed}"
                place = int(hashlib.md5(key.encode()).hexdigest()[:6], 16) / 2**24  # noqa: S324
                if admissible:
                    found.append((row["search"], number, admissible[int(place * len(admissible))]))
    return found


@pytest.mark.parametrize(
    "config",
    [PrefixConfig(), PrefixConfig(start="first-word", passes=3), PrefixConfig(min_chars=3, passes=1, seed=7)],
)
def test_contexts_are_those_of_a_slow_loop(engine: Engine, config: PrefixConfig) -> None:
    rows = [search(n) for n in range(210)]
    rows += [search(n, prefix=("t", "zzz")[n % 2]) for n in range(210, 230)]
    rows += [search(n, untyped=True) for n in range(230, 240)]
    found, report = contexts(engine, rows, config)
    expected = slow_contexts(rows, config)
    assert [(row["search"], row["pass"], row["prefix"]) for row in found] == expected
    there = {number for number, _, _ in expected}
    dropped = [r for r in rows if r["search"] not in there and (r["clicked"] or r["split"] != "retriever")]
    assert report == {
        "distinct contexts": len({prefix for _, _, prefix in expected}),
        "instances": len(expected),
        "searches too short to have a prefix": len(dropped),
    }


def test_equal_prefixes_with_equal_columns_are_one_context(engine: Engine) -> None:
    shops = ["a", "b", None, "a", "b", None]
    rows = [search(n, prefix="t", clicked=True, context_shop=shop) for n, shop in enumerate(shops)]
    found, _ = contexts(engine, rows, PrefixConfig(), "context_shop")
    assert [row["context"] for row in found[:3]] == [row["context"] for row in found[3:]]
    assert len({row["context"] for row in found}) == 3


def test_every_admissible_cut_is_drawn_equally_often(engine: Engine) -> None:
    rows = [search(n, text="music player", split="retriever", clicked=True) for n in range(2000)]
    found, _ = contexts(engine, rows, PrefixConfig(seed=1))
    drawn = Counter(row["prefix"] for row in found)
    assert set(drawn) == set(cuts("music player"))
    assert chisquare(list(drawn.values())).pvalue > 0.01
    by_pass = Counter((row["pass"], row["prefix"]) for row in found)
    assert chisquare(list(by_pass.values())).pvalue > 0.01


def test_a_log_without_any_prefix_is_refused(engine: Engine) -> None:
    with pytest.raises(LogError, match="None of 3 searches has a prefix"):
        contexts(engine, [search(n, text="x", clicked=True) for n in range(3)], PrefixConfig())
