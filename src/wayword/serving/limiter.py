"""Rate limiter: how many requests a client may send, by the generic cell rate algorithm."""

from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network

SECOND = 10**9
MOST_CLIENTS = 100_000
"""Clients that are kept; where there are more, those with a full bucket are dropped."""
UNIT = 10**6
"""Nanoseconds of work that cost one request more."""
MOST_UNITS = 50
"""Largest charge of one request: a process that was suspended in the meantime does not lock its clients out."""


@lru_cache(1 << 12)
def client_of(address: str) -> str:
    """Identify a client by its address without the port; of IPv6, by the network of the first 64 bits.

    An IPv4 address that is written as IPv6 is the IPv4 address.

    >>> client_of("10.0.0.7"), client_of("10.0.0.7:4711"), client_of("[2001:db8::1]:80"), client_of("nonsense" * 99)
    ('10.0.0.7', '10.0.0.7', '2001:db8::/64', '?')
    >>> client_of("::ffff:10.0.0.7"), client_of("[::ffff:10.0.0.7]:4711"), client_of("fe80::1%eth0")
    ('10.0.0.7', '10.0.0.7', 'fe80::/64')
    """
    text = address.partition(":")[0] if address.count(":") == 1 else address.lstrip("[").partition("]")[0]
    try:
        parsed = ip_address(text.partition("%")[0])
    except ValueError:
        return "?"
    if isinstance(parsed, IPv6Address):
        mapped = parsed.ipv4_mapped
        return str(mapped) if mapped else str(ip_network((parsed, 64), strict=False))
    return str(parsed)


class Limiter:
    """One number per client: the time at which its bucket is full again. Times are nanoseconds.

    >>> limiter = Limiter(rate=1.0, burst=2)
    >>> [limiter.wait("client", now) / SECOND for now in (0, 0, 0, SECOND // 2, SECOND)]
    [0.0, 0.0, 1.0, 0.5, 0.0]
    """

    def __init__(self, rate: float, burst: int) -> None:
        self._interval = round(SECOND / rate)
        self._burst = burst * self._interval
        self._full: dict[str, int] = {}

    def __len__(self) -> int:
        """The number of clients that are kept."""
        return len(self._full)

    def wait(self, client: str, now: int) -> int:
        """Count a request: 0 if it is allowed, or the time after which one will be."""
        full = self._full.get(client, now)
        full = (full if full > now else now) + self._interval
        if full - now > self._burst:
            return full - now - self._burst
        if len(self._full) >= MOST_CLIENTS and client not in self._full:
            self._full = {one: when for one, when in self._full.items() if when > now}
            if len(self._full) >= MOST_CLIENTS:
                self._full.clear()
        self._full[client] = full
        return 0

    def charge(self, client: str, work: int) -> None:
        """Charge a request that was allowed for its work, in nanoseconds: one request more for each `UNIT`.

        >>> limiter = Limiter(rate=1.0, burst=2)
        >>> limiter.wait("client", 0), limiter.charge("client", 3 * UNIT), limiter.wait("client", 0) / SECOND
        (0, None, 3.0)
        """
        if client in self._full:
            self._full[client] += min(work // UNIT, MOST_UNITS) * self._interval
