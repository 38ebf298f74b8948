"""The service: what is asked over HTTP, and what is answered. An RSGI application, for a server such as Granian."""

import asyncio
import logging
import zlib
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import msgspec

from wayword.completion.expected_utility import ANY, MODES
from wayword.errors import WaywordError
from wayword.index.overrides import Overrides
from wayword.serving import assets, openapi, records, visitors
from wayword.serving.answers import LONGEST_USER, MOST, POLICIES, POPULAR, SERVED, Answer
from wayword.serving.arms import FIRST, Arms, Serving
from wayword.serving.completer import MAX_PREFIX, Served
from wayword.serving.event_log import FOLDER, EventLog
from wayword.serving.explanation import Unknown, explain
from wayword.serving.http import (
    JSON,
    Headers,
    NotModified,
    Refused,
    Response,
    Scope,
    body,
    encode,
    parameters,
)
from wayword.serving.limiter import Limiter
from wayword.serving.metrics import ANSWERS, Metrics
from wayword.serving.options import Options

CONTEXT = "context."
MOST_TAGS = 100
RECENT, LONGEST_RECENT = 4096, 256
"""So many answers are kept, to questions of at most so many characters: what people type is often the same."""
_INDEX, _LIVE, _POPULAR = range(len(ANSWERS))
_NO_STORE = ("cache-control", "no-store")
logger = logging.getLogger("wayword")


Handler = Callable[["Service", Scope, Any], Response | Awaitable[Response]]


class Service:
    """Made before workers are forked, which then share what it has read."""

    def __init__(self, workspace: Path, options: Options) -> None:
        self.workspace, self.options = workspace, options
        self.arms = Arms(workspace, options.against, options.share, options.experiment)
        self.metrics = Metrics()
        self._limiter = Limiter(options.rate, options.burst)
        self._headers: dict[str, Headers] = {}
        self._recent = lru_cache(RECENT)(self._complete)
        self._last = self.arms.now
        self._assets = assets.read()
        self._described = encode(openapi.describe(options))
        self._events: EventLog | None = None
        for served in self.arms.now.arms.values():
            warm(served)

    def __rsgi_init__(self, _loop: Any) -> None:
        """A worker begins, perhaps long after what it was forked from was read."""
        self.metrics.begin()
        self.arms.look()
        self._events = EventLog(self.workspace / FOLDER)
        self.arms.watch()

    def __rsgi_del__(self, _loop: Any) -> None:
        """A worker ends."""
        self.arms.stop()
        if self._events:
            self._events.close()

    async def __rsgi__(self, scope: Scope, protocol: Any) -> None:
        """Answer one request."""
        started = perf_counter_ns()
        path = scope.path
        try:
            found = self._answer(scope, protocol)
            response = found if isinstance(found, Response) else await found
        except NotModified as same:
            response = Response(304, same.headers)
        except Refused as refused:
            response = refused.response()
        except Unknown as unknown:
            response = Refused(404, str(unknown)).response()
        except WaywordError as problem:
            response = Refused(400, str(problem)).response()
        except Exception:
            logger.exception("Answering %s %s failed.", scope.method, path)
            response = Refused(500, "Something went wrong here; the server's log says what.").response()
        status, headers, content = response
        if self.options.origins and path in _ROUTES:
            headers = [*headers, *visitors.cross_origin(scope, self.options)]
        protocol.response_bytes(status, headers, content)
        self.metrics.request(path, status, perf_counter_ns() - started)

    def _answer(self, scope: Scope, protocol: Any) -> Response | Awaitable[Response]:
        if wait := self._limiter.wait(visitors.client(scope, self.options)):
            self.metrics.limited()
            again = str(int(wait) + 1)
            raise Refused(429, f"Too many requests; try again in {again} s.", [("retry-after", again)])
        methods = _ROUTES.get(scope.path)
        if methods is None:
            return self._asset(scope)
        handler = methods.get(scope.method)
        if handler is None:
            if scope.method == "OPTIONS":
                return Response(204, [("allow", ", ".join(methods))])
            raise Refused(
                405, f"Found {scope.method}; expected {', '.join(methods)}.", [("allow", ", ".join(methods))]
            )
        return handler(self, scope, protocol)

    def complete(self, scope: Scope, _protocol: Any) -> Response:
        """`GET /complete`. What was asked lately is not made again."""
        asked, served = scope.query_string, self.arms.now
        if served is not self._last:
            self._recent.cache_clear()  # else it would keep old indexes open
            self._last = served
        make = self._recent if len(asked) <= LONGEST_RECENT else self._complete
        tag, content, source, empty = make(asked, served)
        headers = self._tagged(scope, tag)
        self.metrics.answer(source, empty)
        return Response(200, headers, content)

    def _complete(self, asked: str, arms: Serving) -> tuple[str, bytes, int, bool]:
        """A tag, the answer, where it came from, and whether it is empty."""
        given = parameters(asked)
        prefix, mode, arm, served, context = _asked(given, arms)
        k, policy = _whole(given.get("k", "10"), "k", MOST), given.get("policy", SERVED)
        if policy == SERVED:
            found, finished = served.answer(prefix, k, context, mode)
            name, source = served.index.about["policy"], _INDEX if finished else _LIVE
        elif policy == POPULAR:
            found, name, source = served.popular(prefix, k, context=context, mode=mode), POPULAR, _POPULAR
        else:
            raise Refused(400, f"Found policy {policy[:100]!r}; expected one of {', '.join(POLICIES)}.")
        answer = Answer(prefix, mode, name, served.index.version, arm, found)
        return f"{arm}-{served.tag}", encode(answer), source, not found

    def explain(self, scope: Scope, _protocol: Any) -> Response:
        """`GET /explain`."""
        given = parameters(scope.query_string)
        prefix, mode, arm, served, context = _asked(given, self.arms.now)
        found = explain(served, prefix, _short(_needed(given, "query"), "query"), context=context, mode=mode)
        return Response(200, self._tagged(scope, f"{arm}-{served.tag}"), encode({"arm": arm, **vars(found)}))

    async def store(self, scope: Scope, protocol: Any) -> Response:
        """`POST /events`."""
        visitors.check_site(scope, self.options)
        if not self.options.public_events:
            visitors.check_token(scope, self.options, needed=False)
        found = records.read(await body(protocol, self.options.max_body, self.options.body_timeout))
        if self._events is None:
            raise Refused(503, "The server is starting or stopping; try again.")
        try:
            await self._events.append(records.lines(found))
        except OSError as problem:
            logger.error("Events could not be written: %s", problem)
            raise Refused(
                503, f"The events could not be written ({_reason(problem)}); try again."
            ) from problem
        self.metrics.events(len(found))
        return Response(200, [JSON, _NO_STORE], encode({"stored": len(found)}))

    async def overrides(self, scope: Scope, _protocol: Any) -> Response:
        """`GET /overrides`."""
        visitors.check_token(scope, self.options, needed=True)
        arm = self._arm(scope)
        root, now = self.arms.completers[arm].root, self.arms.now.arms[arm].overrides
        return Response(200, [JSON, _NO_STORE], await _aside(lambda: _decided(root, now)))

    async def override(self, scope: Scope, protocol: Any) -> Response:
        """`PUT /overrides`."""
        visitors.check_token(scope, self.options, needed=True)
        root = self.arms.completers[self._arm(scope)].root
        content = await body(protocol, self.options.max_body, self.options.body_timeout)
        return Response(200, [JSON, _NO_STORE], await _aside(lambda: _decide(content, root)))

    def health(self, _scope: Scope, _protocol: Any) -> Response:
        """`GET /healthz`."""
        arms = {arm: served.index.version for arm, served in self.arms.now.arms.items()}
        return Response(200, [JSON, _NO_STORE], encode({"status": "ok", "indexes": arms}))

    def measured(self, _scope: Scope, _protocol: Any) -> Response:
        """`GET /metrics`."""
        indexes = {
            arm: (served.index.version, served.index.made) for arm, served in self.arms.now.arms.items()
        }
        content = self.metrics.text(indexes).encode()
        return Response(
            200, [("content-type", "text/plain; version=0.0.4; charset=utf-8"), _NO_STORE], content
        )

    def described(self, scope: Scope, _protocol: Any) -> Response:
        """`GET /openapi.json`."""
        return Response(200, self._tagged(scope, f"{zlib.crc32(self._described):08x}"), self._described)

    def _tagged(self, scope: Scope, tag: str) -> Headers:
        """The headers of an answer that stays the same as long as the tag does; the client may have it already."""
        headers = self._headers.get(tag)
        if headers is None:
            if len(self._headers) >= MOST_TAGS:
                self._headers.clear()
            age = ("cache-control", f"private, max-age={self.options.max_age}")
            headers = self._headers[tag] = [JSON, age, ("etag", f'"{tag}"')]
        known = scope.headers.get("if-none-match")
        if known is not None and f'"{tag}"' in known:
            raise NotModified(headers)
        return headers

    def _asset(self, scope: Scope) -> Response:
        asset = self._assets.get(scope.path)
        if asset is None:
            raise Refused(404, f"Found {scope.path[:100]!r}; this server has {', '.join(_ROUTES)}.")
        if scope.method not in ("GET", "HEAD"):
            raise Refused(405, f"Found {scope.method}; expected GET.", [("allow", "GET, HEAD")])
        if scope.headers.get("if-none-match") == asset.tag:
            return Response(304, asset.headers)
        return Response(200, asset.headers, asset.content)

    def _arm(self, scope: Scope) -> str:
        """Which of two arms is meant; where there is one, that."""
        known = self.arms.completers
        arm = parameters(scope.query_string).get("arm", FIRST if len(known) == 1 else "")
        if arm not in known:
            raise Refused(400, f"Found arm {arm[:100]!r}; expected ?arm= with one of {', '.join(known)}.")
        return arm


def _asked(given: Mapping[str, str], arms: Serving) -> tuple[str, str, str, Served, Mapping[str, str]]:
    """Prefix, mode, arm, what answers, and the context."""
    prefix = _short(_needed(given, "prefix"), "prefix")
    user = given.get("user")
    if user is not None and len(user) > LONGEST_USER:
        raise Refused(400, f"Found a user of {len(user):,} characters; expected at most {LONGEST_USER}.")
    arm, served = arms.of(user)
    context = {name[len(CONTEXT) :]: value for name, value in given.items() if name.startswith(CONTEXT)}
    return prefix, given.get("mode", ANY), arm, served, context


def warm(served: Served) -> None:
    """Compile and load all code that an answer may need now, not for the first who asks."""
    index = served.index
    typed = index.texts[0][:8] or "x"
    for text in (typed, f"{typed}q", f"q{typed}q", f"{typed} zq", "zq xq zq", ""):
        for mode in MODES:
            index.live(text, 1, mode, {})
            index.popular(text, 1, mode, {})
    for _ in index.retriever.beginnings.ways(f"{typed} zqxj"):
        pass
    for one in served.complete("", 1):
        explain(served, typed, one.query)


async def _aside(make: Callable[[], bytes]) -> bytes:
    """What takes long is done beside the answers."""
    return await asyncio.get_running_loop().run_in_executor(None, make)


def _decided(root: Path, now: Overrides) -> bytes:
    """What the file says, be it in effect already or not; what is in effect, if the file is broken."""
    try:
        now = Overrides.load(root)
    except WaywordError as problem:
        logger.warning("%s", problem)
    return encode(now.plain())


def _decide(content: bytes, root: Path) -> bytes:
    try:
        decided = Overrides.parse(msgspec.json.decode(content), "the body")
        decided.save(root)
    except (msgspec.DecodeError, RecursionError, ValueError) as problem:
        raise Refused(400, f"The body is not JSON: {problem}.") from None
    except OSError as problem:
        raise Refused(503, f"It could not be written ({_reason(problem)}); try again.") from problem
    return encode(decided.plain())


def _reason(problem: OSError) -> str:
    return problem.strerror or str(problem)


def _needed(given: Mapping[str, str], name: str) -> str:
    if name not in given:
        raise Refused(400, f"The parameter {name} is missing, as in ?{name}=vid.")
    return given[name]


def _short(text: str, name: str) -> str:
    if len(text) > MAX_PREFIX:
        raise Refused(400, f"Found a {name} of {len(text):,} characters; expected at most {MAX_PREFIX:,}.")
    return text


def _whole(text: str, name: str, most: int) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    if not 1 <= number <= most:
        raise Refused(400, f"Found {name} = {text[:100]!r}; expected a whole number from 1 to {most}.")
    return number


_ROUTES: dict[str, dict[str, Handler]] = {
    "/complete": {"GET": Service.complete, "HEAD": Service.complete},
    "/explain": {"GET": Service.explain, "HEAD": Service.explain},
    "/events": {"POST": Service.store},
    "/overrides": {"GET": Service.overrides, "PUT": Service.override},
    "/healthz": {"GET": Service.health, "HEAD": Service.health},
    "/metrics": {"GET": Service.measured, "HEAD": Service.measured},
    "/openapi.json": {"GET": Service.described, "HEAD": Service.described},
}
