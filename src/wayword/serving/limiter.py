"""The limiter: how many requests a client may send, as a bucket that fills at a steady rate."""

from functools import lru_cache
from ipaddress import ip_address, ip_network
from time import monotonic

MOST_CLIENTS = 100_000
"""So many clients are remembered; more than that make it forget those that have been quiet."""


@lru_cache(1 << 12)
def client_of(address: str) -> str:
    """Who asks: an address without its port, or the network of a house that has many (IPv6's first 64 bits).

    >>> client_of("10.0.0.7"), client_of("10.0.0.7:4711"), client_of("[2001:db8::1]:80"), client_of("nonsense" * 99)
    ('10.0.0.7', '10.0.0.7', '2001:db8::/64', '?')
    """
    text = address.partition(":")[0] if address.count(":") == 1 else address.lstrip("[").partition("]")[0]
    try:
        found = ip_address(text)
    except ValueError:
        return "?"
    return str(found) if found.version == 4 else str(ip_network((found, 64), strict=False))


class Limiter:
    """One number per client: when its bucket will be full again (the generic cell rate algorithm).

    >>> limiter = Limiter(rate=1.0, burst=2)
    >>> [limiter.wait("client", now) for now in (0.0, 0.0, 0.0, 0.5, 1.0)]
    [0.0, 0.0, 1.0, 0.5, 0.0]
    """

    def __init__(self, rate: float, burst: int) -> None:
        self._interval = 1.0 / rate if rate else 0.0
        self._burst = burst * self._interval
        self._full: dict[str, float] = {}

    def wait(self, client: str, now: float | None = None) -> float:
        """Zero if the client may go on, or the seconds after which it may."""
        if not self._interval:
            return 0.0
        now = monotonic() if now is None else now
        full = max(self._full.get(client, now), now) + self._interval
        if full - now > self._burst + 1e-9:
            return full - now - self._burst
        if len(self._full) >= MOST_CLIENTS and client not in self._full:
            self._full = {one: when for one, when in self._full.items() if when > now}
            if len(self._full) >= MOST_CLIENTS:
                self._full.clear()
        self._full[client] = full
        return 0.0
