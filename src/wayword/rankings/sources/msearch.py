"""OpenSearch and Elasticsearch: many searches in one request to `_msearch`.

The template is the body of the team's own search. Each search of a request fails alone: with an `error`, or with
results of some shards only, which counts as no answer.
"""

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from wayword.errors import EngineError
from wayword.rankings.sources.http import Http, error_text, failure
from wayword.rankings.sources.json_path import JsonPath
from wayword.rankings.sources.json_template import JsonTemplate
from wayword.rankings.sources.source import Answer, Busy, Options, Refused, listed

PATH = "hits.hits[*]._id"


class MultiSearch:
    """An index of OpenSearch or Elasticsearch."""

    batch, most_batch = 50, 10_000
    most_threads = 64

    def __init__(self, options: Options) -> None:
        if options.template is None:
            raise EngineError(
                'Expected --template: the body of your search as JSON, with "{query}" as its text.'
            )
        self._http = Http(options)
        self._template = JsonTemplate.read(options.template)
        self._path = JsonPath(options.json_path or PATH)
        self._url = (
            f"{(options.endpoint or '').rstrip('/')}/{quote(options.index or '', safe=',*-_')}/_msearch"
        )
        self._defaults: dict[str, Any] = {} if "_source" in self._path.text else {"_source": False}

    @property
    def identity(self) -> dict[str, Any]:
        """See `Source.identity`."""
        return {"url": self._url, "template": self._template.content, "path": self._path.text}

    def ask(self, queries: Sequence[str], depth: int) -> list[Answer]:
        """See `Source.ask`."""
        bodies = [self._defaults | {"size": depth} | self._template.filled(query, depth) for query in queries]
        lines = "".join(f"{{}}\n{json.dumps(body)}\n" for body in bodies)
        found = self._http.ask("POST", self._url, body=lines.encode(), content_type="application/x-ndjson")
        responses = found.get("responses") if isinstance(found, dict) else None
        if not isinstance(responses, list) or len(responses) != len(queries):
            raise Refused(
                f"{self._http.place}: expected {len(queries)} responses to as many searches, found others."
            )
        return [self._answer(response, depth) for response in responses]

    def _answer(self, response: Any, depth: int) -> Answer:
        if not isinstance(response, dict):
            return Refused(f"{self._http.place}: found a response that is no object.")
        if "error" in response:
            status = response.get("status")
            message = f"{self._http.place}: {self._http.shown(error_text(response))}"
            return failure(status if isinstance(status, int) else 500, message)
        shards = response.get("_shards")
        failed = shards.get("failed", 0) if isinstance(shards, dict) else 0
        if failed or response.get("timed_out"):
            return Busy(f"{self._http.place}: results of some shards only ({failed} failed, or out of time)")
        try:
            return listed(self._path.values(response), depth)
        except Refused as problem:
            return problem

    def close(self) -> None:
        """See `Source.close`."""
        self._http.close()
