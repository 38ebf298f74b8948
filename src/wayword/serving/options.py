"""Options of the service: address, limits and indexes."""

from dataclasses import dataclass
from pathlib import Path

from wayword.errors import ConfigError


@dataclass(frozen=True)
class Options:
    """The defaults are safe on a developer's machine."""

    host: str = "127.0.0.1"
    port: int = 8080
    workers: int = 1
    against: Path | None = None
    """A second workspace, whose index some users get (an A/B test)."""
    share: float = 0.5
    """The share of users that get the second index."""
    experiment: str = ""
    """The name of the A/B test: another one assigns users anew."""
    origins: tuple[str, ...] = ()
    """Sites whose pages may call the service (CORS); `*` is every site."""
    allowed_hosts: tuple[str, ...] = ()
    """Names, besides its own, under which clients reach the service; `*` is every name."""
    token: str | None = None
    """The secret that is needed to post events and to change overrides."""
    public_events: bool = False
    """Whether events are accepted without the token."""
    rate: float = 100.0
    """Requests per second that one client may send in the long run; 0 is no limit."""
    burst: int = 200
    """Requests that one client may send at once."""
    client_connections: int = 128
    """Connections that one client may hold; does not apply behind a proxy."""
    max_connections: int = 4096
    """Connections that all clients together may hold."""
    proxy: bool = False
    """Whether a proxy stands before the service and names the client in X-Forwarded-For."""
    max_age: int = 1
    """Seconds for which a browser may reuse a response."""
    max_body: int = 1_000_000
    """Bytes of a request's body."""
    body_timeout: float = 10.0
    """Seconds in which a body has to arrive."""

    def __post_init__(self) -> None:
        """Raise `ConfigError` for invalid values."""
        for name, low, high in (
            ("port", 0, 65535),
            ("workers", 1, 64),
            ("share", 0, 1),
            ("rate", 0, 1e9),
            ("burst", 1, 1e9),
            ("client_connections", 1, 1e6),
            ("max_connections", 1, 1e6),
            ("max_age", 0, 86400),
            ("max_body", 1, 100_000_000),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise ConfigError(f"Found {name} = {value!r}; expected a number from {low:g} to {high:g}.")
        if self.token is not None and len(self.token) < 16:
            raise ConfigError("Found a token of less than 16 characters; expected one that nobody guesses.")
