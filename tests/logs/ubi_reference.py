"""UBI records as test code makes them, and the slow, obvious reading of them: one loop per rule of docs/ubi.md."""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

Record = dict[str, Any]
EPOCH = datetime(2024, 1, 1, tzinfo=UTC)
CLICKS = ("click", "click_through", "item_click")


def at(seconds: float) -> str:
    """A moment as ISO 8601."""
    return (EPOCH + timedelta(seconds=seconds)).isoformat()


def query(query_id: str | None, text: str | None, seconds: float = 0, **other: Any) -> Record:
    return {"query_id": query_id, "user_query": text, "timestamp": at(seconds), "client_id": "c"} | other


def event(action: str, query_id: str | None, document: str | None = None, **other: Any) -> Record:
    seconds, ordinal = other.pop("seconds", 1), other.pop("ordinal", None)
    attributes: Record = {}
    if document is not None:
        attributes["object"] = {"object_id": document}
    if ordinal is not None:
        attributes["position"] = {"ordinal": ordinal}
    if (completion := other.pop("completion", None)) is not None:
        attributes["completion"] = completion
    made = {"action_name": action, "query_id": query_id, "timestamp": at(seconds), "client_id": "c"}
    return made | {"event_attributes": attributes} | other


def click(query_id: str | None, document: str | None, ordinal: float | None = None, **other: Any) -> Record:
    return event("click", query_id, document, ordinal=ordinal, **other)


def pick(query_id: str | None, text: str | None, prefix: str | None, **other: Any) -> Record:
    completion = _completion(prefix, other.pop("shown", [text]), other)
    return event(
        "completion_picked", query_id, text, ordinal=other.pop("ordinal", 1), completion=completion, **other
    )


def shown(prefix: str | None, texts: Sequence[str | None], **other: Any) -> Record:
    completion = _completion(prefix, texts, other)
    return event("completions_shown", other.pop("query_id", None), ordinal=1, completion=completion, **other)


def _completion(prefix: str | None, texts: Sequence[str | None], other: Record) -> Record:
    """The attribute of a list; its parts are taken out of `other`."""
    completion = {"prefix": prefix, "mode": "any", "index": "i", "shown": list(texts)}
    completion |= {"arm": other.pop("arm", "a"), "policy": other.pop("policy", "expected")}
    session = other.pop("session", None)
    return completion | ({} if session is None else {"typing_session": session})


def bare(records: Iterable[Record]) -> bytes:
    """A record per line."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


def bulk(records: Iterable[Record]) -> bytes:
    """With the action lines of OpenSearch's bulk interface."""
    names = (("ubi_events" if "action_name" in record else "ubi_queries", record) for record in records)
    return b"".join(bare([{"index": {"_index": index}}, record]) for index, record in names)


def when(record: Record) -> tuple[bool, float]:
    """The order of time; what has none comes last."""
    stamp = record.get("timestamp")
    if isinstance(stamp, str):
        try:
            return False, datetime.fromisoformat(stamp).timestamp()
        except ValueError:
            stamp = float(stamp) if stamp.isdigit() else None
    return (True, 0.0) if stamp is None else (False, stamp / 1000)


def _seen(record: Record) -> bool:
    return bool((record.get("user_query") or "").strip())


def object_of(record: Record) -> str | None:
    return record["event_attributes"].get("object", {}).get("object_id")


def ordinal_of(record: Record) -> float | None:
    return record["event_attributes"].get("position", {}).get("ordinal")


def typing_session(record: Record) -> str | None:
    """Of an event."""
    return record["event_attributes"]["completion"].get("typing_session") or None


def session_of(search: Record) -> str | None:
    """Of a query record; an event has none of a search."""
    attributes = search.get("query_attributes")
    found = attributes.get("typing_session") if isinstance(attributes, dict) else None
    return found if isinstance(found, str) and found else None


def same_text(one: str | None, other: str | None) -> bool:
    return one is not None and other is not None and one.strip().lower() == other.strip().lower()


def once(events: Iterable[Record]) -> list[Record]:
    """Events of completions, each the first time that it is there."""
    kept: dict[str, Record] = {}
    for e in events:
        if "completion" in e["event_attributes"]:
            person = e.get("user_id") or e.get("client_id")
            fields = (e["query_id"], person, when(e), e["action_name"], object_of(e))
            kept.setdefault(json.dumps([*fields, e["event_attributes"]["completion"]]), e)
    return list(kept.values())


class Reading:
    """The log of some records."""

    def __init__(self, records: Sequence[Record], first_ordinal: int | None = None) -> None:
        records = [dict(record) for record in records]
        self._places = {id(record): place for place, record in enumerate(records)}
        self._events = [record for record in records if "action_name" in record]
        self._queries = [record for record in records if "action_name" not in record]
        self._given = first_ordinal
        self.searches = self._find_searches()
        self.prefixes = {query_id: self._prefix(query_id) for query_id in self.searches}

    def _find_searches(self) -> dict[str, Record]:
        found: dict[str, Record] = {}
        for record in sorted(
            (q for q in self._queries if _seen(q) and q["query_id"]),
            key=lambda q: (not q.get("query_response_hit_ids"), when(q)),
        ):
            found.setdefault(record["query_id"], record)
        for record in sorted((e for e in self._events if _seen(e) and e["query_id"]), key=when):
            if "completion" not in record["event_attributes"]:
                found.setdefault(record["query_id"], record)
        return found

    def _prefix(self, query_id: str) -> str | None:
        asked = when(self.searches[query_id])
        session = session_of(self.searches[query_id])
        picks = [
            e
            for e in once(self._events)
            if e["action_name"] == "completion_picked"
            if (e["query_id"] == query_id and (when(e)[0] or asked[0] or when(e) <= asked))
            or (session and typing_session(e) == session)
            if same_text(object_of(e), self.searches[query_id]["user_query"])
        ]
        last = max(picks, key=self._lateness, default=None)
        return last["event_attributes"]["completion"]["prefix"] if last else None

    def _lateness(self, record: Record) -> tuple[bool, float, int]:
        """What has no time is never the latest."""
        untimed, moment = when(record)
        return not untimed, moment, self._places[id(record)]

    def _rank(self, record: Record) -> int | None:
        ordinals = [
            ordinal_of(e)
            for e in self._events
            if e["action_name"] in (*CLICKS, "impression")
            and e.get("application", "") == record.get("application", "")
        ]
        zeros, ones = ordinals.count(0), ordinals.count(1)
        first = self._given if self._given is not None else int(not zeros or zeros * 10 < ones)
        own = ordinal_of(record)
        rank = None if own is None else own - first + 1
        return int(rank) if rank is not None and rank >= 1 and rank == int(rank) else None

    def impressions(self, query_id: str) -> dict[str, int]:
        """Document → rank: the first of each document, then the first at each rank."""
        firsts: dict[str, int] = {}
        for e in sorted((e for e in self._events if e["action_name"] == "impression"), key=when):
            document, rank = object_of(e), self._rank(e)
            if e["query_id"] == query_id and document and rank:
                firsts.setdefault(document, rank)
        taken: dict[int, str] = {}
        for document, rank in firsts.items():
            taken.setdefault(rank, document)
        return {document: rank for rank, document in taken.items()}

    def list_of(self, query_id: str) -> dict[str, int]:
        """Document → rank in the hits of a search."""
        found: dict[str, int] = {}
        for rank, document in enumerate(self.searches[query_id].get("query_response_hit_ids") or [], start=1):
            found.setdefault(document, rank)
        return found

    def shown(self) -> list[tuple[str, str, str, int, bool]]:
        """search_id, query, document, rank, clicked: impression events, else hits."""
        clicks = self.clicks()
        return [
            (query_id, s["user_query"], document, rank, document in dict(clicks[query_id]))
            for query_id, s in self.searches.items()
            for document, rank in (self.impressions(query_id) or self.list_of(query_id)).items()
        ]

    def clicks(self) -> dict[str, list[tuple[str, int]]]:
        """The clicks of each search, in order."""
        found: dict[str, list[tuple[str, int]]] = {query_id: [] for query_id in self.searches}
        once: dict[tuple[Any, ...], Record] = {}
        events = [e for e in self._events if e["action_name"] in CLICKS]
        for e in sorted(events, key=lambda e: self._rank(e) or 1 << 40):  # one that says where goes before
            once.setdefault((e["query_id"], object_of(e), when(e), e["action_name"]), e)
        for e in sorted(once.values(), key=lambda e: (when(e), self._places[id(e)])):
            query_id, document = e["query_id"], object_of(e)
            if query_id not in self.searches or not document:
                continue
            text = (e.get("user_query") or "").strip().lower()
            if text and text != self.searches[query_id]["user_query"].strip().lower():
                continue
            lists = (self.list_of(query_id), self.impressions(query_id))
            rank = self._rank(e) or lists[0].get(document) or lists[1].get(document)
            earlier = dict(found[query_id]).get(document, rank)
            if rank and earlier == rank:
                found[query_id].append((document, rank))
        return found

    def rows(self) -> list[tuple[Any, ...]]:
        """query, document, rank, search_id, user, prefix."""
        clicks = self.clicks()
        none: list[tuple[Any, Any]] = [(None, None)]
        return [
            (s["user_query"], document, rank, query_id, self.person(query_id), self.prefixes[query_id])
            for query_id, s in self.searches.items()
            for document, rank in clicks[query_id] or none
        ]

    def place(self, record: Record) -> int:
        """The number of its line."""
        return self._places[id(record)]

    def person(self, query_id: str) -> str | None:
        """Who searched."""
        events = [e for e in self._events if e["query_id"] == query_id]
        named = (r.get("user_id") or r.get("client_id") for r in (self.searches[query_id], *events))
        return next((name for name in named if name), None)

    def rankings(self) -> list[tuple[str, str, int]]:
        """query, document, rank."""
        found: dict[str, dict[str, int]] = {}
        clicked: dict[str, list[str]] = {}
        for query_id, clicks in self.clicks().items():
            clicked.setdefault(self.searches[query_id]["user_query"], []).extend(name for name, _ in clicks)
        for lists in (self.list_of, self.impressions):
            known: dict[str, list[dict[str, int]]] = {}
            for query_id, search in sorted(self.searches.items(), key=lambda s: self._lateness(s[1])):
                if listed := lists(query_id):
                    known.setdefault(search["user_query"], []).append(listed)
            chosen = {}
            for text, all_lists in known.items():
                explained = [sum(document in one for document in clicked[text]) for one in all_lists[-20:]]
                chosen[text] = [
                    one for one, n in zip(all_lists[-20:], explained, strict=True) if 2 * n >= max(explained)
                ][-1]
            found = chosen | found
        return [(text, document, rank) for text, listed in found.items() for document, rank in listed.items()]
