"""The walk of a click in docs/architecture.md is what a run does."""

import re
import sys
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import wayword
from shop import Shop
from wayword.pipeline import run

Call = tuple[str, str]
"""The name of a function and its file."""
PACKAGE = Path(wayword.__file__).parent
PAGE = PACKAGE.parents[1] / "docs" / "architecture.md"
LONGEST = 45
"""Half of the calls that the same walk had in the first version."""


@contextmanager
def calls_of(functions: Collection[Call]) -> Iterator[list[Call]]:
    """Record the calls of these functions, in every thread."""
    made: list[Call] = []

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        call = frame.f_code.co_qualname, frame.f_code.co_filename.removeprefix(f"{PACKAGE}/")
        if event == "call" and call in functions:
            made.append(call)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield made
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def documented() -> list[Call]:
    section = PAGE.read_text().split("## The walk of one click")[1].split("\n## ")[0]
    return re.findall(r"`([\w.]+)` \(`([\w/.]+\.py)`\)", section)


def test_a_run_makes_the_documented_calls_in_this_order(shop: Shop, tmp_path: Path) -> None:
    walk = documented()
    with calls_of(set(walk)) as made:
        run(shop.data / "clicks.parquet", shop.data / "rankings.parquet", out=tmp_path)
    assert set(made) == set(walk)
    rest = iter(made)
    assert [call for call in walk if call not in rest] == []  # `in` consumes: a subsequence of the calls
    assert len(walk) <= LONGEST
