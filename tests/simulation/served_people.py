"""Simulated people who type at a real server and post what they see and do, with the records that the page posts."""

import http.client
import json
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pyarrow as pa

from servers import PATIENCE, Server
from wayword.simulation.people import People
from wayword.simulation.people_log import COMPLETIONS, SHOWN, Names
from wayword.simulation.queries import Queries
from wayword.simulation.simulate import CLICKS
from wayword.simulation.typing_sessions import Typing
from wayword.simulation.world import World
from wayword.store.compressed_rows import CompressedRows
from wayword.text import cuts

Record = dict[str, Any]
MONDAY = datetime(2024, 1, 1, tzinfo=UTC)
KEYSTROKE, RESULTS, LOOK = timedelta(seconds=0.2), timedelta(seconds=0.5), timedelta(seconds=3)
"""Between two letters; until the results are there; until one of them is clicked."""
AT_ONCE = 8
"""People who type at the same time; they post together."""


class Connection:
    """One connection for many requests to a server."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)

    def close(self) -> None:
        """Close it; the next request opens it again."""
        self._connection.close()

    def complete(self, prefix: str) -> Record:
        """`GET /complete`."""
        self._connection.request("GET", f"/complete?{urlencode({'prefix': prefix, 'k': SHOWN})}")
        return self._answer()

    def post(self, records: Sequence[Record]) -> None:
        """`POST /events`, acknowledged."""
        self._connection.request("POST", "/events", json.dumps(records))
        assert self._answer() == {"stored": len(records)}

    def post_and_kill(self, records: Sequence[Record]) -> None:
        """Kill the server before it answers; whether the records are stored is unknown, so they are sent again."""
        self._connection.request("POST", "/events", json.dumps(records))
        self.server.stop(signal.SIGKILL)
        self.close()
        self.server.start()
        self.post(records)

    def _answer(self) -> Record:
        answer = self._connection.getresponse()
        body = answer.read()
        assert answer.status == 200, body
        return dict(json.loads(body))


@dataclass(frozen=True)
class ServedLists:
    """The logging policy that asks a server."""

    texts: Sequence[str]
    connection: Connection
    answers: dict[str, Record] = field(default_factory=dict)
    """The latest answer at each text."""

    def shown(self, typed: Sequence[str], k: int) -> CompressedRows:
        """See `LoggingPolicy.shown`."""
        number = {text: place for place, text in enumerate(self.texts)}
        self.answers.update({text: self.connection.complete(text) for text in typed})
        lists = [[number[query] for query in shown_of(self.answers[text])][:k] for text in typed]
        lengths = np.array([len(one) for one in lists], np.int64)
        return CompressedRows.from_lengths(
            np.array([query for one in lists for query in one], np.int64), lengths
        )


def shown_of(answer: Record) -> list[str]:
    """The texts of a list."""
    return [one["query"] for one in answer["completions"]]


@dataclass(frozen=True)
class Told:
    """What people did, in the tables of `people_log`."""

    searches: pa.Table
    lists: pa.Table

    @classmethod
    def together(cls, parts: "Sequence[Told]") -> "Told":
        """All rows."""
        return cls(
            pa.concat_tables([part.searches for part in parts]),
            pa.concat_tables([part.lists for part in parts]),
        )


class Visitors:
    """People of one kind in a world, at a server."""

    def __init__(self, world: World, kind: str, connection: Connection) -> None:
        texts = world.queries.to_pylist()
        self.lists = ServedLists(texts, connection)
        self.typing = Typing(world, People.named(kind, Queries.of(world)), self.lists, SHOWN)
        self._pages: dict[str, list[str]] = {text: [] for text in texts}
        for row in world.rankings.sort_by("rank").to_pylist():
            self._pages[row["query"]].append(row["document"])

    def visit(self, lists_shown: int, seed: int, first: int) -> Iterator[tuple[list[Record], Told]]:
        """Draw people by the chunk: their records, in the order of time, and what they did.

        Searches are numbered from `first`.
        """
        names = Names(self.typing)
        for drawn in self.typing.draw(lists_shown, np.random.default_rng(seed)):
            tables = names.tables(drawn, first, False)
            told = Told(*(with_names(tables[name]) for name in (CLICKS, COMPLETIONS)))
            yield self._records(told, MONDAY + first * KEYSTROKE), told
            first += told.searches.num_rows

    def _records(self, told: Told, begin: datetime) -> list[Record]:
        lists: dict[str, list[Record]] = {}
        for row in told.lists.to_pylist():
            lists.setdefault(row["search_id"], []).append(row)
        made = [
            record
            for search in told.searches.to_pylist()
            for record in self._of_session(search, lists.get(search["search_id"], []), begin)
        ]
        return sorted(made, key=lambda record: str(record["timestamp"]))

    def _of_session(self, search: Record, lists: Sequence[Record], begin: datetime) -> Iterator[Record]:
        """The records of one person, as `web/events.js` makes them."""
        name, query = search["search_id"], search["query"]
        end = begin + len(lists) * KEYSTROKE
        ids = {"query_id": name, "client_id": f"who did {name}"}
        event = {**ids, "session_id": f"visit of {name}"}
        for place, row in enumerate(lists):
            shown = {"position": {"ordinal": 1}, "completion": self._completion(row)}
            if row["shown"]:
                yield {
                    "action_name": "completions_shown",
                    **at(begin + place * KEYSTROKE),
                    **event,
                    **of(shown),
                }
            if row["taken"]:
                picked = {"object": {"object_id": query, "object_id_type": "query"}}
                picked |= {"position": {"ordinal": row["taken"]}, "completion": self._completion(row)}
                yield {"action_name": "completion_picked", **at(end), **event, **of(picked)}
        typed = {"query_attributes": {"typing_session": lists[0]["typing_session"]}} if lists else {}
        hits = {"query_response_hit_ids": self._pages[query]}
        yield {"user_query": query, **at(end + RESULTS), **ids, **hits, **typed}
        if search["document"] is not None:
            clicked = {"object": {"object_id": search["document"]}, "position": {"ordinal": search["rank"]}}
            yield {"action_name": "click", "user_query": query, **at(end + LOOK), **event, **of(clicked)}

    def _completion(self, row: Record) -> Record:
        answer = self.lists.answers[row["prefix"]]
        assert shown_of(answer) == row["shown"]
        about = {name: answer[name] for name in ("prefix", "mode", "policy", "index", "arm")}
        return {**about, "shown": row["shown"], "typing_session": row["typing_session"]}


def with_names(table: pa.Table) -> pa.Table:
    """The table with names instead of numbers, which another log may have too."""
    for column, name in (("search_id", "search"), ("typing_session", "typing")):
        if column in table.column_names:
            names = pa.array([f"{name} {number}" for number in table[column].to_pylist()])
            table = table.set_column(table.column_names.index(column), column, names)
    return table


def of(attributes: Record) -> Record:
    """The attributes of an event."""
    return {"event_attributes": attributes}


def at(moment: datetime) -> Mapping[str, str]:
    """The time of a record, as JavaScript writes it."""
    return {"timestamp": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")}


def texts_typed(world: World) -> list[str]:
    """Every text on the way to a query of the world."""
    return sorted({text for query in world.queries.to_pylist() for text in cuts(query)})
