"""The OpenAPI 3.1 description, made from the types and the parameters that the service itself uses."""

from collections.abc import Sequence
from typing import Any

import msgspec

from wayword import __version__
from wayword.index.evaluation_file import Evaluation
from wayword.logs.ubi.schema import Event, Query
from wayword.serving import events, parameters
from wayword.serving.experiment import FIRST, SECOND
from wayword.serving.explanation import Explanation
from wayword.serving.options import Options
from wayword.serving.parameters import Parameter
from wayword.serving.responses import SCORES, CompletionResponse, Error, Health, OverridesBody, Stored

REFERENCE = "#/components/schemas/{name}"
Plain = dict[str, Any]
REASONS = {
    400: "Something is invalid; the error says what.",
    401: "The token is missing or wrong.",
    403: "Forbidden: the server was started without a token, or without this site as an origin.",
    404: "Not found.",
    408: "The body did not arrive in time.",
    413: "The body is too large.",
    421: "The server is not allowed to answer under this host name.",
    429: "Too many requests; retry-after says when to try again.",
    503: "The index was withdrawn, or something could not be written; try again.",
}


def describe(options: Options) -> Plain:
    """All paths of the service."""
    types = (CompletionResponse, Explanation, Event, Query, Stored, Health, OverridesBody, Evaluation, Error)
    schemas, components = msgspec.json.schema_components(types, ref_template=REFERENCE)
    of = dict(zip(types, schemas, strict=True))
    components["CompletionResponse"]["properties"]["score_is"]["description"] = _meanings()
    arms = [FIRST] if options.against is None else [FIRST, SECOND]
    record = {"anyOf": [of[Event], of[Query]]}
    body = {"anyOf": [record, {"type": "array", "items": record, "minItems": 1, "maxItems": events.MOST}]}
    token: Plain = {"security": [{"token": []}]}
    posting = {} if options.token is None or options.public_events else token
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
                    "parameters": _described(parameters.COMPLETE),
                    "responses": _responses(of, CompletionResponse, 400, 421, 429, 503, cached=True),
                }
            },
            "/explain": {
                "get": {
                    "operationId": "explain",
                    "summary": "Why a query is suggested: the demand, and the results of the query.",
                    "parameters": _described(parameters.EXPLAIN),
                    "responses": _responses(of, Explanation, 400, 404, 421, 429, 503, cached=True),
                }
            },
            "/events": {
                "post": {
                    "operationId": "events",
                    "summary": "Store events and queries (OpenSearch UBI 1.3). Answered when they are on disk.",
                    "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
                    "responses": _responses(of, Stored, 400, 401, 403, 408, 413, 421, 429, 503),
                    **posting,
                }
            },
            "/overrides": {
                "get": {
                    "operationId": "overrides",
                    "summary": "The denied, deleted and pinned queries.",
                    "parameters": _described(parameters.overrides(arms)),
                    "responses": _responses(of, OverridesBody, 400, 401, 403, 421, 429),
                    **token,
                },
                "put": {
                    "operationId": "override",
                    "summary": "Replace the denied, deleted and pinned queries; takes effect within a second.",
                    "parameters": _described(parameters.overrides(arms)),
                    "requestBody": {"required": True, "content": {"application/json": {"schema": of[OverridesBody]}}},
                    "responses": _responses(of, OverridesBody, 400, 401, 403, 408, 413, 421, 429, 503),
                    **token,
                },
            },
            "/evaluation": {
                "get": {
                    "operationId": "evaluation",
                    "summary": "What people find and type with each policy, as `wayword evaluate` says.",
                    "responses": _responses(of, Evaluation, 404, 421, 429, 503, cached=True),
                }
            },
            "/healthz": {
                "get": {
                    "operationId": "health",
                    "summary": "Whether the service works, and the version of each index: 503 with the reasons if not.",
                    "responses": {
                        **_responses(of, Health),
                        "503": _responses(of, Health)["200"] | {"description": "The service fails."},
                    },
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
                        **_errors(of, 421, 429),
                    },
                }
            },
        },
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }  # fmt: skip


def _described(known: Sequence[Parameter]) -> list[Plain]:
    return [parameter.described() for parameter in known]


def _meanings() -> str:
    return "The meaning of every `score`. " + " ".join(f"{name}: {text}" for name, text in SCORES.items())


def _responses(of: dict[type, Plain], kind: type, *errors: int, cached: bool = False) -> Plain:
    responses: Plain = {
        "200": {
            "description": (kind.__doc__ or "").splitlines()[0],
            "content": {"application/json": {"schema": of[kind]}},
        }
    }
    if cached:
        responses["304"] = {"description": "The client has the current response."}
    return {**responses, **_errors(of, *errors)}


def _errors(of: dict[type, Plain], *statuses: int) -> Plain:
    content = {"application/json": {"schema": of[Error]}}
    return {str(status): {"description": REASONS[status], "content": content} for status in statuses}
