"""The description of the interface, as OpenAPI 3.1, from the types that are used and the limits that are kept."""

from typing import Any

import msgspec

from wayword import __version__
from wayword.completion.expected_utility import MODES
from wayword.serving import records
from wayword.serving.answers import (
    LONGEST_USER,
    MOST,
    POLICIES,
    SERVED,
    Answer,
    Decided,
    Error,
    Health,
    Stored,
)
from wayword.serving.arms import FIRST, SECOND
from wayword.serving.completer import MAX_PREFIX
from wayword.serving.explanation import Explanation
from wayword.serving.options import Options

REFERENCE = "#/components/schemas/{name}"
Plain = dict[str, Any]
REASONS = {
    400: "Something is invalid; the error says what.",
    401: "The token is missing or another.",
    403: "Closed: the server was started without a token, or without this site as an origin.",
    404: "There is no such thing here.",
    408: "The body did not arrive in time.",
    413: "The body is too large.",
    429: "Too many requests; retry-after says when to try again.",
    503: "It could not be written; nothing of it was. Try again.",
}


def describe(options: Options) -> Plain:
    """Everything that the service answers."""
    types = (Answer, Explanation, records.Event, records.Query, Stored, Health, Decided, Error)
    schemas, components = msgspec.json.schema_components(types, ref_template=REFERENCE)
    of = dict(zip(types, schemas, strict=True))
    record = {"anyOf": [of[records.Event], of[records.Query]]}
    body = {"anyOf": [record, {"type": "array", "items": record, "minItems": 1, "maxItems": records.MOST}]}
    token: Plain = {"security": [{"token": []}]}
    events = {} if options.token is None or options.public_events else token
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Wayword",
            "version": __version__,
            "description": "Query autocompletion that knows where each query leads.",
        },
        "paths": {
            "/complete": {
                "get": {
                    "operationId": "complete",
                    "summary": "Completions of a typed text, best first.",
                    "parameters": [
                        *_asked(),
                        _parameter("k", "How many.", type="integer", minimum=1, maximum=MOST, default=10),
                        _parameter("policy", "What the index serves, or most popular completion, to compare.",
                                   type="string", enum=list(POLICIES), default=SERVED),
                    ],
                    "responses": _responses(of, Answer, 400, 429, cached=True),
                }
            },
            "/explain": {
                "get": {
                    "operationId": "explain",
                    "summary": "Why a query is suggested: what is wanted, and where the query leads.",
                    "parameters": [
                        *_asked(),
                        _parameter("query", "The query that is suggested.", required=True, type="string",
                                   maxLength=MAX_PREFIX),
                    ],
                    "responses": _responses(of, Explanation, 400, 404, 429, cached=True),
                }
            },
            "/events": {
                "post": {
                    "operationId": "events",
                    "summary": "Store events and queries (OpenSearch UBI 1.3). Answered when they are on disk.",
                    "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
                    "responses": _responses(of, Stored, 400, 401, 403, 408, 413, 429, 503),
                    **events,
                }
            },
            "/overrides": {
                "get": {
                    "operationId": "overrides",
                    "summary": "What is denied, deleted and pinned.",
                    "parameters": [_arm(options)],
                    "responses": _responses(of, Decided, 400, 401, 403, 429),
                    **token,
                },
                "put": {
                    "operationId": "override",
                    "summary": "Decide anew what is denied, deleted and pinned; it holds within a second.",
                    "parameters": [_arm(options)],
                    "requestBody": {"required": True, "content": {"application/json": {"schema": of[Decided]}}},
                    "responses": _responses(of, Decided, 400, 401, 403, 408, 413, 429, 503),
                    **token,
                },
            },
            "/healthz": {
                "get": {
                    "operationId": "health",
                    "summary": "Whether the service answers, and from which versions.",
                    "responses": _responses(of, Health, 429),
                }
            },
            "/metrics": {
                "get": {
                    "operationId": "metrics",
                    "summary": "Counters and latencies for Prometheus.",
                    "responses": {
                        "200": {
                            "description": "Prometheus' text format.",
                            "content": {"text/plain": {"schema": {"type": "string"}}},
                        },
                        **_errors(of, 429),
                    },
                }
            },
        },
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }  # fmt: skip


def _asked() -> list[Plain]:
    return [
        _parameter("prefix", "What has been typed.", required=True, type="string", maxLength=MAX_PREFIX),
        _parameter(
            "mode",
            "prefix: only queries that go on from the typed text; any: every query that leads there.",
            type="string",
            enum=list(MODES),
            default=MODES[0],
        ),
        _parameter(
            "user", "Who asks; decides which of two indexes answers.", type="string", maxLength=LONGEST_USER
        ),
    ]


def _arm(options: Options) -> Plain:
    arms = [FIRST] if options.against is None else [FIRST, SECOND]
    return _parameter("arm", "Which index is meant.", required=len(arms) > 1, type="string", enum=arms)


def _parameter(name: str, meaning: str, *, required: bool = False, **schema: Any) -> Plain:
    return {"name": name, "in": "query", "description": meaning, "required": required, "schema": schema}


def _responses(of: dict[type, Plain], kind: type, *errors: int, cached: bool = False) -> Plain:
    found: Plain = {
        "200": {
            "description": (kind.__doc__ or "").splitlines()[0],
            "content": {"application/json": {"schema": of[kind]}},
        }
    }
    if cached:
        found["304"] = {"description": "The answer that the client has is still right."}
    return {**found, **_errors(of, *errors)}


def _errors(of: dict[type, Plain], *statuses: int) -> Plain:
    content = {"application/json": {"schema": of[Error]}}
    return {str(status): {"description": REASONS[status], "content": content} for status in statuses}
