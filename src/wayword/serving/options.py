"""Options of the service: where it listens, what it allows, and what it serves."""

from dataclasses import dataclass
from pathlib import Path

from wayword.errors import ConfigError


@dataclass(frozen=True)
class Options:
    """All have defaults that are safe on a machine of one's own."""

    host: str = "127.0.0.1"
    port: int = 8080
    workers: int = 1
    against: Path | None = None
    """A second workspace, whose index answers some of the users."""
    share: float = 0.5
    """The share of users that the second one answers."""
    experiment: str = ""
    """Its name: another one gives users to the arms anew."""
    origins: tuple[str, ...] = ()
    """Sites whose pages may ask (CORS); `*` is every site."""
    token: str | None = None
    """Who knows it may post events and change overrides."""
    public_events: bool = False
    """Whether events are taken from everyone, though there is a token."""
    rate: float = 100.0
    """Requests per second that one client may send in the long run; 0 is no limit."""
    burst: int = 200
    """Requests that one client may send at once."""
    proxy: bool = False
    """Whether a proxy stands before the service, which says in X-Forwarded-For who asks."""
    max_age: int = 1
    """Seconds for which a browser may use an answer again."""
    max_body: int = 1_000_000
    """Bytes of a request's body."""
    body_timeout: float = 10.0
    """Seconds in which a body has to arrive."""

    def __post_init__(self) -> None:
        """Raise `ConfigError` for values that cannot be meant."""
        for name, low, high in (
            ("port", 0, 65535),
            ("workers", 1, 64),
            ("share", 0, 1),
            ("rate", 0, 1e9),
            ("burst", 1, 1e9),
            ("max_age", 0, 86400),
            ("max_body", 1, 100_000_000),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise ConfigError(f"Found {name} = {value!r}; expected a number from {low:g} to {high:g}.")
        if self.token is not None and len(self.token) < 16:
            raise ConfigError("Found a token of less than 16 characters; expected one that nobody guesses.")
