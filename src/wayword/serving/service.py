"""The service: what is asked over HTTP, and what is answered. An RSGI application, for a server such as Granian."""

import hmac
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import msgspec

from wayword import __version__
from wayword.errors import WaywordError
from wayword.index import versions
from wayword.index.overrides import Overrides
from wayword.retrieval.graph import ANY
from wayword.serving import assets, openapi, records
from wayword.serving.answers import LONGEST_USER, MOST, POLICIES, POPULAR, SERVED, Answer
from wayword.serving.arms import Arms, Serving
from wayword.serving.completer import MAX_PREFIX, Served
from wayword.serving.event_log import FOLDER, EventLog
from wayword.serving.explanation import Explanation, Unknown, explain
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
        self.arms = Arms(workspace, options.against, options.share)
        self.metrics = Metrics()
        self._limiter = Limiter(options.rate, options.burst)
        self._headers: dict[str, Headers] = {}
        self._recent = lru_cache(RECENT)(self._complete)
        self._last = self.arms.now
        self._assets = assets.read()
        self._described = encode(openapi.describe(options))
        self._events: EventLog | None = None
        for (
            served
        ) in self.arms.now.arms.values():  # code is compiled and loaded now, not for the first who ask
            served.popular("x")
            served.index.live("x y", 1, ANY, {})

    def __rsgi_init__(self, _loop: Any) -> None:
        """A worker begins."""
        self.metrics.begin()
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
            headers = [*headers, *self._cross_origin(scope)]
        protocol.response_bytes(status, headers, content)
        self.metrics.request(path, status, perf_counter_ns() - started)

    def _answer(self, scope: Scope, protocol: Any) -> Response | Awaitable[Response]:
        if wait := self._limiter.wait(self._client(scope)):
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
        return served.tag, encode(answer), source, not found

    def explain(self, scope: Scope, _protocol: Any) -> Response:
        """`GET /explain`."""
        given = parameters(scope.query_string)
        prefix, mode, arm, served, context = _asked(given, self.arms.now)
        found: Explanation = explain(served, prefix, _needed(given, "query"), context=context, mode=mode)
        return Response(200, self._tagged(scope, served.tag), encode({"arm": arm, **vars(found)}))

    async def store(self, scope: Scope, protocol: Any) -> Response:
        """`POST /events`."""
        if not self.options.public_events:
            self._authorised(scope, needed=False)
        found = records.read(await body(protocol, self.options.max_body, self.options.body_timeout))
        if self._events is None:
            raise Refused(503, "The server is starting or stopping; try again.")
        try:
            await self._events.append(records.lines(found))
        except OSError as problem:
            logger.exception("Events could not be written.")
            raise Refused(
                503, f"The events could not be written ({problem.strerror}); try again."
            ) from problem
        self.metrics.events(len(found))
        return Response(200, [JSON, _NO_STORE], encode({"stored": len(found)}))

    def overrides(self, scope: Scope, _protocol: Any) -> Response:
        """`GET /overrides`."""
        self._authorised(scope, needed=True)
        now = Overrides.load(self.workspace / versions.ROOT)
        return Response(200, [JSON, _NO_STORE], encode(now.plain()))

    async def override(self, scope: Scope, protocol: Any) -> Response:
        """`PUT /overrides`."""
        self._authorised(scope, needed=True)
        content = await body(protocol, self.options.max_body, self.options.body_timeout)
        try:
            given = msgspec.json.decode(content)
        except (msgspec.DecodeError, RecursionError, ValueError) as problem:
            raise Refused(400, f"The body is not JSON: {problem}.") from None
        decided = Overrides.parse(given, "the body")
        for completer in self.arms.completers.values():
            decided.save(completer.root)
        return Response(200, [JSON, _NO_STORE], encode(decided.plain()))

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
        return Response(200, self._tagged(scope, __version__), self._described)

    def _tagged(self, scope: Scope, tag: str) -> Headers:
        """The headers of an answer that stays the same as long as the tag does; the client may have it already."""
        headers = self._headers.get(tag)
        if headers is None:
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

    def _authorised(self, scope: Scope, *, needed: bool) -> None:
        """Raise `Refused` unless the token was sent; where there is none, what needs one is closed."""
        if self.options.token is None:
            if needed:
                raise Refused(403, "Start the server with a token to use this: `wayword serve --token`.")
            return
        sent = scope.headers.get("authorization") or ""
        if not hmac.compare_digest(sent.encode("utf-8", "replace"), f"Bearer {self.options.token}".encode()):
            raise Refused(
                401, "Expected the header `Authorization: Bearer TOKEN`.", [("www-authenticate", "Bearer")]
            )

    def _client(self, scope: Scope) -> str:
        if self.options.proxy and (forwarded := scope.headers.get("x-forwarded-for")):
            return str(forwarded).rsplit(",", 1)[-1].strip()
        return scope.client.rpartition(":")[0]

    def _cross_origin(self, scope: Scope) -> Headers:
        origin = scope.headers.get("origin")
        allowed = self.options.origins
        if origin is None or ("*" not in allowed and origin not in allowed):
            return [("vary", "origin")]
        found = [("access-control-allow-origin", "*" if "*" in allowed else origin), ("vary", "origin")]
        if scope.method == "OPTIONS":
            found += [
                ("access-control-allow-methods", "GET, POST, OPTIONS"),
                ("access-control-allow-headers", "content-type, authorization"),
                ("access-control-max-age", "86400"),
            ]
        return found


def _asked(given: Mapping[str, str], arms: Serving) -> tuple[str, str, str, Served, Mapping[str, str]]:
    """Prefix, mode, arm, what answers, and the context."""
    prefix = _needed(given, "prefix")
    if len(prefix) > MAX_PREFIX:
        raise Refused(400, f"Found a prefix of {len(prefix):,} characters; expected at most {MAX_PREFIX:,}.")
    user = given.get("user")
    if user is not None and len(user) > LONGEST_USER:
        raise Refused(400, f"Found a user of {len(user):,} characters; expected at most {LONGEST_USER}.")
    arm, served = arms.of(user)
    context = {name[len(CONTEXT) :]: value for name, value in given.items() if name.startswith(CONTEXT)}
    return prefix, given.get("mode", ANY), arm, served, context


def _needed(given: Mapping[str, str], name: str) -> str:
    if name not in given:
        raise Refused(400, f"The parameter {name} is missing, as in ?{name}=vid.")
    return given[name]


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
