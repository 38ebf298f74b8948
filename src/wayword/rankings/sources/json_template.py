"""Request templates: JSON whose texts may hold `{query}` and `{depth}`.

A query is put into a text that JSON has already read, so no character of it can end that text.

>>> template = JsonTemplate({"query": {"match": {"title": "{query}"}}, "size": "{depth}"})
>>> template.filled('4" tv"}}, "x": {"', 10)
{'query': {'match': {'title': '4" tv"}}, "x": {"'}}, 'size': 10}
"""

import json
from pathlib import Path
from typing import Any

from wayword.errors import EngineError
from wayword.store.regular_file import read_regular

QUERY, DEPTH = "{query}", "{depth}"
LARGEST = 1_000_000
"""Bytes of a template."""


class JsonTemplate:
    """An object with places for the query and for the number of documents."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.content = content

    @classmethod
    def read(cls, path: Path) -> "JsonTemplate":
        """Read and check a file."""
        try:
            content = json.loads(read_template(path))
        except (ValueError, RecursionError) as problem:
            raise EngineError(f"{path} is no JSON: {problem}. Write {QUERY} between quotes.") from None
        if not isinstance(content, dict) or QUERY not in "".join(_texts(content)):
            raise EngineError(
                f'{path} has no place for the query; expected a JSON object with a text "{QUERY}".'
            )
        return cls(content)

    def filled(self, query: str, depth: int) -> dict[str, Any]:
        """The object for a query."""
        filled: dict[str, Any] = _filled(self.content, query, depth)
        return filled


def read_template(path: Path) -> str:
    """Read a file of at most `LARGEST` bytes."""
    try:
        return read_regular(path, LARGEST)
    except (OSError, ValueError) as problem:
        raise EngineError(f"Cannot read the template {path}: {problem}") from None


def _filled(value: Any, query: str, depth: int) -> Any:
    if isinstance(value, dict):
        return {key: _filled(one, query, depth) for key, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, query, depth) for one in value]
    if not isinstance(value, str):
        return value
    return (
        depth if value == DEPTH else query.join(one.replace(DEPTH, str(depth)) for one in value.split(QUERY))
    )


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict | list):
        return [
            text for one in (value.values() if isinstance(value, dict) else value) for text in _texts(one)
        ]
    return [value] if isinstance(value, str) else []
