"""Solr: a request to `select` for each query, with the parameters of a template.

Parameters are sent as a form, so that a long query fits. `{!…}` at the beginning of a query would choose another
parser; with `defType=edismax`, the default here, Solr takes it as text.
"""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, urlencode

from wayword.rankings.sources.http import Http
from wayword.rankings.sources.json_path import JsonPath
from wayword.rankings.sources.json_template import JsonTemplate
from wayword.rankings.sources.source import Answer, Busy, Options, Refused, listed

PATH = "response.docs[*].id"
PARAMETERS = {"q": "{query}", "defType": "edismax", "uf": "* -_query_", "fl": "id"}


class Solr:
    """A collection or core of Solr."""

    batch = most_batch = 1
    most_threads = 64

    def __init__(self, options: Options) -> None:
        self._http = Http(options)
        self._template = JsonTemplate.read(options.template) if options.template else JsonTemplate(PARAMETERS)
        self._path = JsonPath(options.json_path or PATH)
        self._url = f"{(options.endpoint or '').rstrip('/')}/{quote(options.index or '', safe='-_')}/select"

    @property
    def identity(self) -> dict[str, Any]:
        """See `Source.identity`."""
        return {"url": self._url, "template": self._template.content, "path": self._path.text}

    def ask(self, queries: Sequence[str], depth: int) -> list[Answer]:
        """See `Source.ask`."""
        return [self._answer(query, depth) for query in queries]

    def _answer(self, query: str, depth: int) -> Answer:
        form = {"rows": depth} | self._template.filled(query, depth) | {"wt": "json"}
        try:
            found = self._http.ask(
                "POST",
                self._url,
                body=urlencode(form, doseq=True).encode(),
                content_type="application/x-www-form-urlencoded",
            )
            header = found.get("responseHeader") if isinstance(found, dict) else None
            if isinstance(header, dict) and header.get("partialResults"):
                return Busy(f"{self._http.place}: partial results (out of time, or shards failed)")
            return listed(self._path.values(found), depth)
        except (Busy, Refused) as problem:
            return problem

    def close(self) -> None:
        """See `Source.close`."""
        self._http.close()
