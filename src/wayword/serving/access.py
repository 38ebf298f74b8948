"""Access: client identity, tokens, and the sites whose pages may call the service."""

import hmac

from wayword.serving.http import Headers, Refused, Scope
from wayword.serving.limiter import client_of
from wayword.serving.options import Options


def client(scope: Scope, *, proxy: bool) -> str:
    """The client whose requests are counted together; behind a proxy, the one that the proxy names."""
    if proxy:
        forwarded = [value for name, value in scope.headers.items() if name == "x-forwarded-for"]
        if forwarded:  # the last is the proxy's own
            return client_of(forwarded[-1].rsplit(",", 1)[-1].strip())
    return client_of(scope.client.rpartition(":")[0])


def check_token(scope: Scope, options: Options, *, needed: bool) -> None:
    """Raise `Refused` unless the token was sent; a server without a token refuses what needs one."""
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
    """Raise `Refused` for a page of another site, whose events would fill the log."""
    origin = scope.headers.get("origin")
    if origin is None or "*" in options.origins or origin in options.origins:
        return
    if origin.partition("://")[2] != scope.headers.get("host"):
        raise Refused(403, f"Found the origin {origin[:100]!r}; start the server with --origin to allow it.")


def cross_origin(scope: Scope, options: Options) -> Headers:
    """CORS headers, for pages of allowed sites."""
    origin, allowed = scope.headers.get("origin"), options.origins
    if origin is None or ("*" not in allowed and origin not in allowed):
        return [("vary", "origin")]
    headers = [("access-control-allow-origin", "*" if "*" in allowed else origin), ("vary", "origin")]
    if scope.method == "OPTIONS":
        headers += [
            ("access-control-allow-methods", "GET, POST, OPTIONS"),
            ("access-control-allow-headers", "content-type, authorization"),
            ("access-control-max-age", "86400"),
        ]
    return headers
