"""Any engine with answers in JSON: a URL template, and the path to the documents in the answer."""

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from wayword.errors import EngineError
from wayword.rankings.sources.http import Http
from wayword.rankings.sources.json_path import JsonPath
from wayword.rankings.sources.json_template import DEPTH, QUERY
from wayword.rankings.sources.source import Answer, Busy, Options, Refused, listed


class Url:
    """An engine that is asked by GET."""

    batch = most_batch = 1
    most_threads = 64

    def __init__(self, options: Options) -> None:
        self._template = options.endpoint or ""
        self._http = Http(options)
        self._path = JsonPath(options.json_path or "")
        if QUERY not in self._template:
            raise EngineError(
                f"Found no {QUERY} in the endpoint; expected it where the query is put, as in ?q={QUERY}."
            )

    @property
    def identity(self) -> dict[str, Any]:
        """See `Source.identity`."""
        return {"url": self._template, "path": self._path.text}

    def ask(self, queries: Sequence[str], depth: int) -> list[Answer]:
        """See `Source.ask`."""
        return [self._answer(query, depth) for query in queries]

    def _answer(self, query: str, depth: int) -> Answer:
        if re.fullmatch(r"\.\.?", query) and QUERY in self._template.partition("?")[0]:
            return Refused(f"{query!r} cannot be a part of a path.")
        url = self._template.replace(DEPTH, str(depth)).replace(QUERY, quote(query, safe=""))
        try:
            return listed(self._path.values(self._http.ask("GET", url)), depth)
        except (Busy, Refused) as problem:
            return problem

    def close(self) -> None:
        """See `Source.close`."""
        self._http.close()
