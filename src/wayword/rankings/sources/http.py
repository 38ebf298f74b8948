"""Requests to engines over HTTP: pooled connections, verified certificates, bounded answers, no secret in a message."""

import json
import re
import ssl
import time
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import urllib3
from urllib3.exceptions import HTTPError, InvalidHeader, SSLError

from wayword.errors import EngineError
from wayword.rankings.sources.source import Busy, Options, Refused

LARGEST_ANSWER = 100_000_000
"""Bytes of an answer, uncompressed."""
LONGEST_WAIT = 600.0
"""Seconds; an engine that asks for a longer break is asked again by the next run."""
_CHUNK = 1 << 16
_LATER = (408, 425, 429, 500, 502, 503, 504)
_NEVER = (401, 403, 404, 405, 407)


class Http:
    """A client of one engine; threads share it."""

    def __init__(self, options: Options, threads: int = 64) -> None:
        self.place = place_of(options.endpoint or "")
        self._credentials = options.credentials
        self._timeout = options.timeout
        self._pool = urllib3.PoolManager(
            maxsize=threads,
            ssl_context=ssl_context(options.ca),
            headers={
                "Accept": "application/json",
                "Accept-Encoding": "gzip, deflate",
                "User-Agent": "wayword",
            }
            | (options.credentials.headers() if options.credentials else {}),
        )

    def ask(
        self, method: str, url: str, *, body: bytes | None = None, content_type: str | None = None
    ) -> Any:
        """The JSON that the engine answers; `Busy`, `Refused` or `EngineError` for anything else."""
        headers = {**self._pool.headers} | ({"Content-Type": content_type} if content_type else {})
        until = time.monotonic() + self._timeout
        try:
            response = self._pool.request(
                method,
                url,
                body=body,
                headers=headers,
                timeout=urllib3.Timeout(total=self._timeout),
                retries=False,
                redirect=False,
                preload_content=False,
            )
            try:
                content = self._content(response, until)
            except BaseException:
                response.close()
                raise
            response.release_conn()
        except (HTTPError, OSError) as problem:
            raise self._unanswered(problem) from None
        if response.status // 100 != 2:
            after = _break(response.headers.get("Retry-After"))
            raise failure(response.status, f"{self.place}: {self.shown(_message(content))}", after)
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            raise Refused(f"{self.place}: found no JSON but {self.shown(_message(content))!r}.") from None

    def _content(self, response: urllib3.BaseHTTPResponse, until: float) -> bytes:
        parts, size = [], 0
        for part in response.stream(_CHUNK, decode_content=True):
            parts.append(part)
            size += len(part)
            if size > LARGEST_ANSWER:
                raise Refused(
                    f"{self.place}: the answer has more than {LARGEST_ANSWER:,} bytes. Leave fields out of it that are "
                    "not needed."
                )
            if time.monotonic() > until:
                raise Busy(f"{self.place}: the answer was not complete after {self._timeout:g} s.")
        return b"".join(parts)

    def _unanswered(self, problem: Exception) -> EngineError:
        cause = problem.args[0] if isinstance(problem, SSLError) and problem.args else None
        if isinstance(cause, ssl.SSLCertVerificationError):
            return EngineError(
                f"{self.place} is not trusted: {self.shown(cause.verify_message)}. If its certificate is of your own "
                "authority, give that with --ca."
            )
        return Busy(f"{self.place}: {self.shown(_reason(problem))}")

    def shown(self, text: str) -> str:
        """A text of the engine for a message: on one line, short, and without the credentials."""
        plain = self._credentials.redact(text) if self._credentials else text
        return " ".join("".join(c if c.isprintable() else " " for c in plain).split())[:300]

    def close(self) -> None:
        """Close all connections."""
        self._pool.clear()


def failure(status: int, message: str, after: float | None = None) -> Busy | Refused:
    """What a status means: to ask later, not to ask this query; it raises `EngineError` if nothing can be asked."""
    text = f"{message} (status {status})"
    if status in _LATER:
        return Busy(text, after)
    if status in _NEVER or status // 100 == 3:
        raise EngineError(
            f"{text}. Check --endpoint, --index and the credentials; a redirect is not followed."
        )
    return Refused(text)


def place_of(endpoint: str) -> str:
    """Scheme, host and port of a URL, which may be shown; a URL that is none, or holds a secret, is refused."""
    try:
        parts = urlsplit(endpoint)
        port = parts.port
    except ValueError:
        parts, port = SplitResult("", "", "", "", ""), None
    if "@" in parts.netloc:
        raise EngineError(
            f"Found credentials in the endpoint, before {parts.hostname}; expected none there. Give the name of an "
            "environment variable or a file instead: --credentials-env or --credentials-file."
        )
    if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"[{}\s]", parts.netloc):
        raise EngineError(
            f"Found the endpoint {endpoint.partition('?')[0]!r}; expected one such as https://host:9200."
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}" + (f":{port}" if port else "")


def ssl_context(ca: Path | None) -> ssl.SSLContext:
    """The authorities that the machine trusts, and those in the file `ca`."""
    context = ssl.create_default_context()
    if ca is not None:
        try:
            context.load_verify_locations(ca)
        except (OSError, ssl.SSLError) as problem:
            raise EngineError(f"Cannot read certificates (PEM) in {ca}: {problem}") from None
    return context


def _break(header: str | None) -> float | None:
    """Seconds of a header Retry-After, which has seconds or a date."""
    if header is None:
        return None
    try:
        seconds = urllib3.Retry().parse_retry_after(header)
    except (InvalidHeader, ValueError, OverflowError):
        return None
    if seconds > LONGEST_WAIT:
        raise EngineError(
            f"The engine asks for a break of {seconds:,.0f} s; expected at most {LONGEST_WAIT:,.0f}. Run the same "
            "command again after that: it goes on from here."
        )
    return max(0.0, seconds)


def _reason(problem: Exception) -> str:
    """Why there was no answer, without the names of objects that urllib3 puts before it."""
    text = str(problem)
    return re.sub(r"^<?[\w.]*(?:Connection|Pool)\w*\([^)]*\)>?: ", "", text) or type(problem).__name__


def _message(content: bytes) -> str:
    """The reason in an answer that reports an error, as Elasticsearch, OpenSearch and Solr write it, else its text."""
    try:
        return error_text(json.loads(content))
    except (ValueError, RecursionError):
        return content[:1000].decode("utf-8", "replace") or "an empty answer"


def error_text(answer: Any) -> str:
    """The reason in a JSON object that reports an error."""
    error = answer.get("error", answer) if isinstance(answer, dict) else answer
    if not isinstance(error, dict):
        return str(error)
    causes = error.get("root_cause")
    first = causes[0] if isinstance(causes, list) and causes and isinstance(causes[0], dict) else error
    known = [str(first[key]) for key in ("type", "reason", "msg", "message") if first.get(key)]
    return ": ".join(known) or json.dumps(error)
