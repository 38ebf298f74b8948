"""The slow, obvious reading of lists shown and taken: one loop per rule of docs/ubi.md."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ubi_reference import (
    Reading,
    Record,
    object_of,
    once,
    ordinal_of,
    same_text,
    session_of,
    typing_session,
    when,
)

Row = tuple[Any, ...]
SHOWN, PICKED = "completions_shown", "completion_picked"


def rows(records: Sequence[Record]) -> list[Row]:
    """typing_session, position_in_session, user, prefix, shown, taken, query, search_id, policy: in any order."""
    records = [dict(record) for record in records]
    return [row for session in _Sessions(records).found.items() for row in session[1]]


class _Sessions:
    def __init__(self, records: list[Record]) -> None:
        self._places = {id(record): place for place, record in enumerate(records)}
        self._reading = Reading(records)
        self._searches = self._reading.searches
        events = once(record for record in records if record.get("action_name") in (SHOWN, PICKED))
        self._events = events
        self._first = self._first_positions()
        sessions: dict[str, list[Record]] = {}
        for event in events:
            if event["action_name"] == PICKED or (_usable(event) and self._known(event)):
                sessions.setdefault(self._name(event), []).append(event)
        self._sessions = {name: self._ordered(each) for name, each in sessions.items()}
        self.found = {name: self._rows(name) for name in self._sessions}

    def _first_positions(self) -> dict[str, int]:
        votes: Counter[tuple[str, int]] = Counter()
        for event in self._events:
            texts, ordinal = _texts(event), ordinal_of(event)
            if event["action_name"] == PICKED and ordinal is not None and ordinal == int(ordinal):
                for first in (0, 1):
                    at = int(ordinal) - first
                    if 0 <= at < len(texts) and texts[at] == object_of(event):
                        votes[event.get("application", ""), first] += 1
        return {name: int(votes[name, 1] >= votes[name, 0]) for name, _ in votes}

    def _known(self, event: Record) -> bool:
        query_id = event["query_id"]
        picked = any(e["action_name"] == PICKED and e["query_id"] == query_id for e in self._events)
        return bool(typing_session(event) or (query_id and (query_id in self._searches or picked)))

    def _name(self, event: Record) -> str:
        return typing_session(event) or event["query_id"] or f"#{self._places[id(event)]}"

    def _ordered(self, events: list[Record]) -> list[Record]:
        ordered = sorted(events, key=lambda e: (when(e), e["action_name"] == PICKED, self._places[id(e)]))
        kept: list[Record] = []
        for place, event in enumerate(ordered):
            before = ordered[place - 1] if place else None
            if event["action_name"] == SHOWN or before is None or not self._is_same_pick(before, event):
                kept.append(event)
        return kept

    def _is_same_pick(self, one: Record, other: Record) -> bool:
        return all(
            read(one) == read(other) for read in (lambda e: e["action_name"], object_of, self._taken, _list)
        )

    def _taken(self, event: Record) -> int | None:
        texts, ordinal, text = _texts(event), ordinal_of(event), object_of(event)
        if ordinal is None:
            return texts.index(text) + 1 if text in texts else None
        at = ordinal - self._first.get(event.get("application", ""), 1)
        whole = at == int(at) and 0 <= at < len(texts)
        return int(at) + 1 if whole and text is not None and texts[int(at)] == text else None

    def _parts(self, name: str) -> list[list[Record]]:
        parts: list[list[Record]] = [[]]
        for event in self._sessions[name]:
            parts[-1].append(event)
            if event["action_name"] == PICKED:
                parts.append([])
        return [part for part in parts if part]

    def _rows(self, name: str) -> list[Row]:
        left, found = self._searches_of(name), list[Row]()
        parts = self._parts(name)
        picked = [object_of(part[-1]) for part in parts if part[-1]["action_name"] == PICKED]
        for number, part in enumerate(parts):
            text, ended = object_of(part[-1]), part[-1]["action_name"] == PICKED
            fitting = [
                search
                for search in left
                if (same_text(text, self._text(search)) if ended else not self._is_any(picked, search))
            ]
            search = fitting[0] if fitting else None
            left = [other for other in left if other != search]
            found += self._rows_of(name + (f"/{number + 1}" if number else ""), part, search)
        return found

    def _text(self, search: str) -> str:
        return str(self._searches[search]["user_query"])

    def _is_any(self, picked: list[str | None], search: str) -> bool:
        return any(same_text(text, self._text(search)) for text in picked)

    def _searches_of(self, name: str) -> list[str]:
        found = []
        for query_id, search in self._searches.items():
            session = session_of(search)
            if session not in self._sessions:
                named = [
                    (not when(e)[0], when(e)[1], self._places[id(e)], other)
                    for other, events in self._sessions.items()
                    for e in events
                    if e["query_id"] == query_id
                ]
                session = max(named)[-1] if named else None
            if session == name:
                found.append(query_id)
        return sorted(found, key=lambda q: (when(self._searches[q]), self._reading.place(self._searches[q])))

    def _rows_of(self, name: str, part: list[Record], search: str | None) -> list[Row]:
        pick = part[-1] if part[-1]["action_name"] == PICKED else None
        if pick and (not _usable(pick) or self._taken(pick) is None):
            return []
        lists = [event for event in part if event["action_name"] == SHOWN]
        matching = [event for event in lists if pick and _list(event) == _list(pick)]
        if pick and not matching:
            lists, matching = [*lists, pick], [pick]
        displays: list[tuple[Any, ...]] = []
        for event in lists:
            display = (when(event), event["event_attributes"]["completion"]["prefix"])
            if display not in displays:
                displays.append(display)
        return [
            (
                name,
                displays.index((when(event), event["event_attributes"]["completion"]["prefix"])),
                _person(event) or (self._reading.person(search) if search else None),
                event["event_attributes"]["completion"]["prefix"],
                _texts(event),
                self._taken(pick) if pick and event is matching[-1] else None,
                self._searches[search]["user_query"] if search else None,
                search,
                event["event_attributes"]["completion"]["policy"],
            )
            for event in lists
        ]


def _person(event: Record) -> str | None:
    return event.get("user_id") or event.get("client_id") or None


def _texts(event: Record) -> list[Any]:
    return event["event_attributes"]["completion"]["shown"] or []


def _list(event: Record) -> list[Any]:
    return [
        event["event_attributes"]["completion"][name]
        for name in ("prefix", "shown", "mode", "policy", "index", "arm")
    ]


def _usable(event: Record) -> bool:
    texts = _texts(event)
    prefix = event["event_attributes"]["completion"]["prefix"]
    return prefix is not None and bool(texts) and all(text and text.strip() for text in texts)
