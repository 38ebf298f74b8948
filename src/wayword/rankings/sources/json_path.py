"""The path to the documents in a JSON answer, in the notation of JSONPath (RFC 9535), as far as it selects lists.

>>> path = JsonPath("hits.hits[*]._source['sku.id']")
>>> path.values({"hits": {"hits": [{"_source": {"sku.id": "a"}}, {"_source": {"sku.id": 7}}]}})
['a', 7]
>>> JsonPath("$[1][0][2:][0]").values([{}, [[[1], ["_key"], ["vlc"], ["mpv"]]]])
['vlc', 'mpv']
"""

import re
from typing import Any

from wayword.errors import EngineError
from wayword.rankings.sources.source import Refused

_STEP = re.compile(
    r"""\.?(?P<name>[^\W\d][\w@-]*) | \[(?:(?P<every>\*) | (?P<index>-?\d+) | (?P<begin>\d*):(?P<end>\d*)
      | '(?P<single>[^']*)' | "(?P<double>[^"]*)")\]""",
    re.VERBOSE,
)
Step = str | int | slice


class JsonPath:
    """Steps into an answer: a member of an object, an element of a list, or several of them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._steps: list[Step] = []
        place = 1 if text.startswith("$") else 0
        while place < len(text):
            match = _STEP.match(text, place)
            if match is None:
                raise EngineError(
                    f"Cannot read the JSON path {text!r} at character {place + 1}; expected names and lists, such as "
                    "results[*].id or $[1][2:]['_key']."
                )
            self._steps.append(_step(match))
            place = match.end()
        if not any(isinstance(step, slice) for step in self._steps):
            raise EngineError(
                f"Found no list in the JSON path {text!r}; expected [*] where the documents are listed."
            )

    def values(self, answer: Any) -> list[Any]:
        """What the path selects, in order; a list that is null is empty, a missing member raises `Refused`."""
        found = [answer]
        for place, step in enumerate(self._steps):
            if isinstance(step, slice):
                found = [element for one in found for element in self._elements(one, place)[step]]
            else:
                found = [self._member(one, step, place) for one in found]
        return found

    def _elements(self, value: Any, place: int) -> list[Any]:
        if value is None:
            return []
        if not isinstance(value, list):
            raise self._mismatch(value, place)
        return value

    def _member(self, value: Any, step: Any, place: int) -> Any:
        try:
            if isinstance(value, dict if isinstance(step, str) else list):
                return value[step]
        except (KeyError, IndexError):
            pass
        raise self._mismatch(value, place)

    def _mismatch(self, value: Any, place: int) -> Refused:
        found = (
            f"an object with {', '.join(map(repr, [*value][:8]))}"
            if isinstance(value, dict)
            else _kind(value)
        )
        return Refused(f"The answer has no {self.text!r}: step {place + 1} of it found {found[:300]}.")


def _step(match: re.Match[str]) -> Step:
    if match["begin"] is not None:
        return slice(*(int(text) if text else None for text in (match["begin"], match["end"])))
    if match["every"]:
        return slice(None)
    if match["index"]:
        return int(match["index"])
    return next(text for text in (match["name"], match["single"], match["double"]) if text is not None)


def _kind(value: Any) -> str:
    return (
        f"a list of {len(value)}"
        if isinstance(value, list)
        else "null"
        if value is None
        else type(value).__name__
    )
