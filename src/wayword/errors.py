"""What goes wrong because of what the user gave us: said in one message, exit code 2, nothing overwritten."""


class WaywordError(Exception):
    """A mistake in the input, with what was found, what was expected and what to do next."""


class ConfigError(WaywordError):
    """A setting that does not exist or has a value that it cannot take."""


class LogError(WaywordError):
    """A click log, rankings table or judgment table that cannot be used as it is."""


class WorkspaceError(WaywordError):
    """A workspace that cannot be read or written."""


class MissingExtra(WaywordError):
    """A part of Wayword that needs an optional install."""

    def __init__(self, extra: str, needed_for: str) -> None:
        super().__init__(
            f"{needed_for} needs the extra '{extra}', which is not installed. "
            f"Install it with: pip install 'wayword[{extra}]'"
        )
