"""The HTTP service: an RSGI application, for a server such as Granian."""

import asyncio
import zlib
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from time import monotonic, perf_counter_ns
from typing import Any

import msgspec

from wayword.errors import WaywordError, WorkspaceError
from wayword.index.evaluation_file import Evaluation
from wayword.index.overrides import Overrides
from wayword.request import MODES
from wayword.serving import access, assets, events, openapi, parameters
from wayword.serving.bodies import Bodies
from wayword.serving.completer import Served
from wayword.serving.event_log import FOLDER, EventLog
from wayword.serving.experiment import FIRST, Experiment, Serving
from wayword.serving.explanation import Unknown, explain
from wayword.serving.health import Vitals
from wayword.serving.hosts import Hosts
from wayword.serving.http import JSON, Refused, Response, Scope, encode
from wayword.serving.limiter import SECOND, UNIT, Limiter
from wayword.serving.metrics import ANSWERS, INDEX, LIVE, Metrics, answer_counters
from wayword.serving.options import Options
from wayword.serving.parameters import POPULAR
from wayword.serving.request_log import logger
from wayword.serving.response_cache import CachedResponse, ResponseCache
from wayword.serving.responses import CompletionBody, CompletionResponse, ScoreMeaning

_COUNTERS = {
    (source, empty): answer_counters(source, empty=empty) for source in ANSWERS for empty in (False, True)
}
_NO_STORE = ("cache-control", "no-store")
_COMPLETE, _HEALTH, _EVENTS, _OVERRIDES = "/complete", "/healthz", "/events", "/overrides"
_EVALUATION = "/evaluation"
_UNCHECKED = frozenset((_COMPLETE, _HEALTH))
"""Paths where the host is not checked first: `complete` does it itself, and all may know the server's health."""
_AWAITED = (_EVENTS, _OVERRIDES)
"""Their time is spent waiting, not working."""

Handler = Callable[["Service", Scope, Any], Response | Awaitable[Response]]


class Service:
    """Create it before workers are forked: they share what it has read."""

    def __init__(self, workspace: Path, options: Options) -> None:
        self.workspace, self.options = workspace, options
        self.experiment = Experiment(workspace, options.against, options.share, options.experiment)
        self.metrics = Metrics()
        self._limiter = Limiter(options.rate, options.burst) if options.rate else None
        self._hosts, self._vitals = Hosts(options), Vitals(workspace)
        self._bodies = Bodies(options.max_body, options.body_timeout)
        self._begin(self.experiment.now)
        self._assets = assets.read()
        self._openapi = encode(openapi.describe(options))
        self._overrides = parameters.overrides(list(self.experiment.completers))
        self._events: EventLog | None = None
        for served in self.experiment.now.arms.values():
            warm(served)

    def __rsgi_init__(self, _loop: Any) -> None:
        """Start a worker, perhaps long after the index was read."""
        self.metrics.begin()
        self.experiment.look()
        self._events = EventLog(self.workspace / FOLDER)
        self.experiment.watch()

    def __rsgi_del__(self, _loop: Any) -> None:
        """Stop a worker."""
        self.experiment.stop()
        if self._events:
            self._events.close()

    async def __rsgi__(self, scope: Scope, protocol: Any) -> None:
        """Answer one request."""
        started, path = perf_counter_ns(), scope.path
        try:
            if self._limiter is not None:
                wait = self._limiter.wait(access.client(scope, proxy=self.options.proxy), started)
                if wait:
                    self._refuse(path, wait)
            known = path == _COMPLETE and scope.method == "GET"
            answer = self.complete(scope, protocol) if known else self._route(path, scope, protocol)
            response = answer if isinstance(answer, Response) else await answer
        except Refused as refused:
            response = refused.response()
        except Unknown as unknown:
            response = Refused(404, str(unknown)).response()
        except WorkspaceError as problem:
            logger.error("%s", problem)
            response = Refused(503, "The index cannot be read; /healthz has the reasons.").response()
        except WaywordError as problem:
            response = Refused(400, str(problem)).response()
        except Exception:
            logger.exception("Answering %s %s failed.", scope.method, path)
            response = Refused(500, "Internal error; the server's log has the reason.").response()
        status, headers, content, counters = response
        if self.options.origins and path in _ROUTES:
            headers = [*headers, *access.cross_origin(scope, self.options)]
        protocol.response_bytes(status, headers, content)
        taken = perf_counter_ns() - started
        self.metrics.request(path, status, taken, counters)
        if taken > UNIT and path not in _AWAITED:
            self._charge(scope, taken)

    def _refuse(self, path: str, wait: int) -> None:
        """Refuse a request above the limit, unless it asks for the server's health."""
        if path != _HEALTH:
            self.metrics.limited()
            seconds = str(wait // SECOND + 1)
            raise Refused(429, f"Too many requests; try again in {seconds} s.", [("retry-after", seconds)])

    def _charge(self, scope: Scope, work: int) -> None:
        """Count long work as more requests of the client."""
        if self._limiter is not None:
            self._limiter.charge(access.client(scope, proxy=self.options.proxy), work)

    def _route(self, path: str, scope: Scope, protocol: Any) -> Response | Awaitable[Response]:
        if path not in _UNCHECKED:
            self._hosts.check(scope.headers.get("host"))
        methods = _ROUTES.get(path)
        if methods is None:
            return self._asset(scope)
        handler = methods.get(scope.method)
        if handler is not None:
            return handler(self, scope, protocol)
        allowed = ("allow", ", ".join(methods))
        if scope.method == "OPTIONS":
            return Response(204, [allowed])
        raise Refused(405, f"Found {scope.method}; expected {allowed[1]}.", [allowed])

    def complete(self, scope: Scope, _protocol: Any) -> Response:
        """`GET /complete`. Recent responses are cached."""
        headers = scope.headers
        host = headers.get("host")
        if host not in self._hosts.seen:
            self._hosts.check(host)
        query_string, serving = scope.query_string, self.experiment.now
        if serving is not self._serving:
            self._begin(serving)
        response, not_modified, etag = self._cache[query_string]
        known = headers.get("if-none-match")
        return not_modified if known is not None and etag in known else response

    def _begin(self, serving: Serving) -> None:
        """Drop the responses of old indexes, and with them the indexes."""
        self._serving, self._cache = serving, ResponseCache(partial(self._completed, serving))
        self._tags = {arm: self._tagged(f"{arm}-{served.tag}", b"") for arm, served in serving.arms.items()}

    def _completed(self, serving: Serving, query_string: str) -> CachedResponse:
        """A response that is not cached."""
        values, context = parameters.read(query_string, parameters.COMPLETE)
        prefix, k, mode = values["prefix"], values["k"], values["mode"]
        arm, served = serving.only or serving.of(values["user"])
        if values["policy"] == POPULAR:
            completions, policy, source = (
                served.popular(prefix, k, context=context, mode=mode),
                POPULAR,
                POPULAR,
            )
            score_is: ScoreMeaning = "search_share"
        else:
            completions, finished = served.answer(prefix, k, context, mode)
            policy, source = served.index.about["policy"], INDEX if finished else LIVE
            score_is = served.score_is
        bodies = [CompletionBody(one.query, one.score, one.source) for one in completions]
        content = encode(
            CompletionResponse(prefix, mode, policy, served.index.version, arm, score_is, bodies)
        )
        _, not_modified, etag = self._tags[arm]
        counters = _COUNTERS[source, not completions]
        return CachedResponse(Response(200, not_modified.headers, content, counters), not_modified, etag)

    def explain(self, scope: Scope, _protocol: Any) -> Response:
        """`GET /explain`."""
        values, context = parameters.read(scope.query_string, parameters.EXPLAIN)
        arm, served = self.experiment.now.of(values["user"])
        explanation = explain(served, values["prefix"], values["query"], context=context, mode=values["mode"])
        content = encode({"arm": arm, **vars(explanation)})
        return _unless_known(scope, self._tagged(f"{arm}-{served.tag}", content))

    async def store(self, scope: Scope, protocol: Any) -> Response:
        """`POST /events`."""
        access.check_site(scope, self.options)
        if not self.options.public_events:
            access.check_token(scope, self.options, needed=False)
        content = await self._body(scope, protocol)
        started = perf_counter_ns()
        try:
            records = events.read(content)
            lines = events.lines(records)
        finally:  # what is refused took time too
            self._charge(scope, perf_counter_ns() - started)
        if self._events is None:
            raise Refused(503, "The server is starting or stopping; try again.")
        try:
            await self._events.append(lines)
        except OSError as problem:
            logger.error("Events could not be written: %s", problem)
            self._vitals.wrote(_reason(problem), monotonic())
            raise Refused(
                503, f"The events could not be written ({_reason(problem)}); try again."
            ) from problem
        self._vitals.wrote(None, monotonic())
        self.metrics.events(len(records))
        return Response(200, [JSON, _NO_STORE], encode({"stored": len(records)}))

    async def overrides(self, scope: Scope, _protocol: Any) -> Response:
        """`GET /overrides`."""
        access.check_token(scope, self.options, needed=True)
        arm = self._arm(scope)
        root, current = self.experiment.completers[arm].root, self.experiment.now.arms[arm].overrides
        return Response(200, [JSON, _NO_STORE], await _in_thread(lambda: _read_overrides(root, current)))

    async def override(self, scope: Scope, protocol: Any) -> Response:
        """`PUT /overrides`."""
        access.check_token(scope, self.options, needed=True)
        root = self.experiment.completers[self._arm(scope)].root
        content = await self._body(scope, protocol)
        return Response(200, [JSON, _NO_STORE], await _in_thread(lambda: _write_overrides(content, root)))

    async def evaluation(self, scope: Scope, _protocol: Any) -> Response:
        """`GET /evaluation`: that of the first workspace."""
        root = self.experiment.completers[FIRST].root
        content = await _in_thread(lambda: _read_evaluation(root))
        return _unless_known(scope, self._tagged(f"{zlib.crc32(content):08x}", content))

    def health(self, _scope: Scope, _protocol: Any) -> Response:
        """`GET /healthz`."""
        health = self._vitals.health(self.experiment, monotonic())
        return Response(503 if health.status == "failing" else 200, [JSON, _NO_STORE], encode(health))

    def measured(self, _scope: Scope, _protocol: Any) -> Response:
        """`GET /metrics`."""
        arms = self.experiment.now.arms.items()
        content = self.metrics.text({arm: (one.index.version, one.index.made) for arm, one in arms}).encode()
        return Response(
            200, [("content-type", "text/plain; version=0.0.4; charset=utf-8"), _NO_STORE], content
        )

    def described(self, scope: Scope, _protocol: Any) -> Response:
        """`GET /openapi.json`."""
        return _unless_known(scope, self._tagged(f"{zlib.crc32(self._openapi):08x}", self._openapi))

    def _tagged(self, tag: str, content: bytes) -> CachedResponse:
        """A response that stays the same as long as the tag does."""
        etag = f'"{tag}"'
        headers = [JSON, ("cache-control", f"private, max-age={self.options.max_age}"), ("etag", etag)]
        return CachedResponse(Response(200, headers, content), Response(304, headers), etag)

    def _asset(self, scope: Scope) -> Response:
        asset = self._assets.get(scope.path)
        if asset is None:
            raise Refused(404, f"Found {scope.path[:100]!r}; this server has {', '.join(_ROUTES)}.")
        if scope.method not in ("GET", "HEAD"):
            raise Refused(405, f"Found {scope.method}; expected GET.", [("allow", "GET, HEAD")])
        if scope.headers.get("if-none-match") == asset.tag:
            return Response(304, asset.headers)
        return Response(200, asset.headers, asset.content)

    async def _body(self, scope: Scope, protocol: Any) -> bytes:
        client = access.client(scope, proxy=self.options.proxy)

        def pay() -> None:
            wait = self._limiter.wait(client, perf_counter_ns()) if self._limiter is not None else 0
            if wait:
                self._refuse(scope.path, wait)

        return await self._bodies.read(scope, protocol, client, pay)

    def _arm(self, scope: Scope) -> str:
        return str(parameters.read(scope.query_string, self._overrides).of["arm"])


def _unless_known(scope: Scope, tagged: CachedResponse) -> Response:
    """The response, or 304 if the client has it already."""
    known = scope.headers.get("if-none-match")
    return tagged.not_modified if known is not None and tagged.etag in known else tagged.response


def warm(served: Served) -> None:
    """Load and compile all code that a request may need, before the first request."""
    index = served.index
    index.prefault()
    typed = index.texts[0][:8] or "x"
    for text in (typed, f"{typed}q", f"q{typed}q", f"{typed} zq", "zq xq zq", ""):
        for mode in MODES:
            index.live(text, 1, mode, {})
            index.popular(text, 1, mode)
    for _ in index.retriever.matcher.strategies(f"{typed} zqxj"):
        pass
    for one in served.complete("", 1):
        explain(served, typed, one.query)


async def _in_thread(make: Callable[[], bytes]) -> bytes:
    """Run slow work beside the requests."""
    return await asyncio.get_running_loop().run_in_executor(None, make)


def _read_overrides(root: Path, current: Overrides) -> bytes:
    """The overrides of the file, in effect or not yet; those in effect, if the file is broken."""
    try:
        current = Overrides.load(root)
    except WaywordError as problem:
        logger.warning("%s", problem)
    return encode(current.plain())


def _read_evaluation(root: Path) -> bytes:
    """The evaluation of an index, read at each request: few ask for it, and it changes with every run."""
    try:
        found = Evaluation.load(root)
    except WorkspaceError as problem:
        logger.warning("%s", problem)
        raise Refused(
            503, "The evaluation cannot be read; `wayword index WORKSPACE` writes it anew."
        ) from None
    if found is None:
        raise Refused(404, "There is no evaluation; `wayword run` makes one.")
    return encode(found)


def _write_overrides(content: bytes, root: Path) -> bytes:
    try:
        overrides = Overrides.parse(msgspec.json.decode(content), "the body")
        overrides.save(root)
    except (msgspec.DecodeError, RecursionError, ValueError) as problem:
        raise Refused(400, f"The body is not JSON: {problem}.") from None
    except OSError as problem:
        raise Refused(503, f"It could not be written ({_reason(problem)}); try again.") from problem
    return encode(overrides.plain())


def _reason(problem: OSError) -> str:
    return problem.strerror or str(problem)


_ROUTES: dict[str, dict[str, Handler]] = {
    _COMPLETE: {"GET": Service.complete, "HEAD": Service.complete},
    "/explain": {"GET": Service.explain, "HEAD": Service.explain},
    _EVENTS: {"POST": Service.store},
    _OVERRIDES: {"GET": Service.overrides, "PUT": Service.override},
    _EVALUATION: {"GET": Service.evaluation, "HEAD": Service.evaluation},
    _HEALTH: {"GET": Service.health, "HEAD": Service.health},
    "/metrics": {"GET": Service.measured, "HEAD": Service.measured},
    "/openapi.json": {"GET": Service.described, "HEAD": Service.described},
}
