"""Visitors: who asks, from which site, and what they may do."""

import hmac

from wayword.serving.http import Headers, Refused, Scope
from wayword.serving.limiter import client_of
from wayword.serving.options import Options


def client(scope: Scope, options: Options) -> str:
    """Whose requests are counted together."""
    if options.proxy:
        said = [value for name, value in scope.headers.items() if name == "x-forwarded-for"]
        if said:  # the last is the proxy's own
            return client_of(said[-1].rsplit(",", 1)[-1].strip())
    return client_of(scope.client.rpartition(":")[0])


def check_token(scope: Scope, options: Options, *, needed: bool) -> None:
    """Raise `Refused` unless the token was sent; where there is none, what needs one is closed."""
    if options.token is None:
        if needed:
            raise Refused(403, "Start the server with a token to use this: `wayword serve --token`.")
        return
    sent = scope.headers.get("authorization") or ""
    if not hmac.compare_digest(sent.encode("utf-8", "replace"), f"Bearer {options.token}".encode()):
        raise Refused(
            401, "Expected the header `Authorization: Bearer TOKEN`.", [("www-authenticate", "Bearer")]
        )


def check_site(scope: Scope, options: Options) -> None:
    """Raise `Refused` for a page of another site: a browser says whose it is, and others shall not fill the log."""
    origin = scope.headers.get("origin")
    if origin is None or "*" in options.origins or origin in options.origins:
        return
    if origin.partition("://")[2] != scope.headers.get("host"):
        raise Refused(403, f"Found the origin {origin[:100]!r}; start the server with --origin to allow it.")


def cross_origin(scope: Scope, options: Options) -> Headers:
    """What lets a browser show the answer to a page of an allowed site."""
    origin, allowed = scope.headers.get("origin"), options.origins
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
