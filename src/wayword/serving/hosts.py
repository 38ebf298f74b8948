"""Allowed hosts: the names under which clients may reach the service.

A page of a foreign site can let its own name lead to this server (DNS rebinding); browsers then take the server for
that site. So a name that the server does not know is refused. Addresses and `localhost` are allowed: no site has them.
"""

import socket
from ipaddress import ip_address

from wayword.serving.http import Refused
from wayword.serving.options import Options

MOST_SEEN = 1000
"""Values of the header `host` that are known to be allowed; more are checked each time."""
LONGEST = 260
"""Characters of a name of the longest kind, and a port; a longer value is refused."""


class Hosts:
    """Loopback names, addresses, the server's own name, and the names of the options."""

    def __init__(self, options: Options) -> None:
        names = ("localhost", options.host, socket.gethostname(), *options.allowed_hosts)
        origins = (origin.partition("://")[2] for origin in options.origins)
        self._allowed = {_name(one) for one in (*names, *origins)}
        self._all = "*" in options.allowed_hosts or "*" in options.origins
        self.seen: set[str | None] = {None}
        """Allowed values of the header, as they were sent; a client that sends none is no browser."""

    def check(self, host: str | None) -> None:
        """Raise `Refused` for a foreign name."""
        if host is None or host in self.seen:
            return
        name = _name(host[:LONGEST])
        if len(host) > LONGEST or not (
            self._all or name in self._allowed or name.endswith(".localhost") or _is_address(name)
        ):
            raise Refused(
                421,
                f"Found the host {name[:100]!r}; start the server with --allowed-host to allow this name.",
            )
        if len(self.seen) < MOST_SEEN:
            self.seen.add(host)


def _name(host: str) -> str:
    """The name or address of a host, without the port.

    >>> _name("Shop.Example.:8080"), _name("[::1]:80"), _name("::1")
    ('shop.example', '::1', '::1')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return (host if host.count(":") > 1 else host.partition(":")[0]).lower().rstrip(".")


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
