"""Overrides: denied, deleted and pinned completions, edited by hand and effective without training.

`overrides.json` beside the versions of an index:

    {"deny": ["some query"], "delete": ["another"], "pin": {"typed text": ["first", "second"]}}

Denied queries are not shown. Deleted queries are not shown, and the next index does not contain them. Queries pinned
to a text come first for it, in the given order, each once, even if the index does not contain them, unless they are
denied or deleted.
"""

import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from wayword.errors import WaywordError
from wayword.store.artefact import write_atomically
from wayword.store.regular_file import read_regular
from wayword.text import normalise

FILE = "overrides.json"


@dataclass(frozen=True)
class Overrides:
    """Manual decisions. Texts are normalised, except pinned queries, which are shown as given."""

    deny: frozenset[str] = frozenset()
    delete: frozenset[str] = frozenset()
    pin: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tag: str = field(default="", compare=False)
    """Checksum of the file."""

    @classmethod
    def load(cls, folder: Path) -> "Overrides":
        """Read the overrides of a folder; without a file there are none."""
        file = folder / FILE
        try:
            text = read_regular(file)
            content = json.loads(text)
        except FileNotFoundError:
            return cls()
        except (OSError, ValueError, RecursionError) as problem:
            raise WaywordError(f"Cannot read {file}: {problem}") from problem
        return replace(cls.parse(content, str(file)), tag=f"{zlib.crc32(text.encode()):08x}")

    @classmethod
    def parse(cls, given: Any, where: str = "overrides") -> "Overrides":
        """Validate plain JSON values.

        >>> Overrides.parse({"deny": ["TV  Stand!"]}).deny
        frozenset({'tv stand'})
        """
        if not isinstance(given, dict):
            raise WaywordError(f"Found {type(given).__name__} in {where}; expected an object.")
        if unknown := sorted(given.keys() - {"deny", "delete", "pin"}):
            raise WaywordError(
                f"Found {', '.join(map(repr, unknown))} in {where}; expected deny, delete or pin."
            )
        pins = given.get("pin", {})
        if not isinstance(pins, dict):
            raise WaywordError(
                f"Found pin = {repr(pins)[:200]} in {where}; expected texts with lists of queries."
            )
        deny, delete = (
            frozenset(map(normalise, _texts(given.get(what, []), what, where))) for what in ("deny", "delete")
        )
        hidden = deny | delete
        pinned: dict[str, dict[str, str]] = {}
        for typed, queries in pins.items():
            first = pinned.setdefault(normalise(typed), {})
            for query in _texts(queries, f"pin {typed[:40]!r}", where):
                if (text := normalise(query)) and text not in hidden:
                    first.setdefault(text, query)
        return cls(deny, delete, {typed: tuple(of.values()) for typed, of in pinned.items() if of})

    @property
    def hidden(self) -> frozenset[str]:
        """Queries that are never shown: denied and deleted ones."""
        return self.deny | self.delete

    def without_pins(self, unwanted: Callable[[str], bool]) -> "Overrides":
        """The same without the pinned queries whose normalised text is unwanted."""
        pins = {
            typed: tuple(query for query in queries if not unwanted(normalise(query)))
            for typed, queries in self.pin.items()
        }
        return replace(self, pin={typed: queries for typed, queries in pins.items() if queries})

    def plain(self) -> dict[str, Any]:
        """Plain JSON values, as read by `parse`."""
        return {
            "deny": sorted(self.deny),
            "delete": sorted(self.delete),
            "pin": {typed: list(queries) for typed, queries in sorted(self.pin.items())},
        }

    def save(self, folder: Path) -> None:
        """Write the file atomically."""
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / FILE, json.dumps(self.plain(), indent=2, ensure_ascii=False) + "\n")


def _texts(given: Any, what: str, where: str) -> list[str]:
    if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
        raise WaywordError(f"Found {what} = {repr(given)[:200]} in {where}; expected a list of texts.")
    return [text.encode("utf-8", "replace").decode("utf-8") for text in given]
