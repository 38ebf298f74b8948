"""Errors caused by user input. Commands print the message and exit with code 2; nothing is overwritten."""


class WaywordError(Exception):
    """Invalid input. The message says what was found, what was expected and what to do."""


class ConfigError(WaywordError):
    """An unknown setting, or an invalid value of one."""


class LogError(WaywordError):
    """An invalid click log, rankings table or judgment table."""


class EngineError(WaywordError):
    """A search engine that cannot be asked, or that answers otherwise than expected."""


class ClusterError(WaywordError):
    """A Spark engine, or its storage, that cannot be reached or that failed."""


class WorkspaceError(WaywordError):
    """A workspace that cannot be read or written."""


class MissingExtra(WaywordError):
    """A feature whose optional dependencies are not installed."""

    def __init__(self, extra: str, needed_for: str) -> None:
        super().__init__(
            f"{needed_for} needs the extra '{extra}', which is not installed. "
            f"Install it from Wayword's folder: pip install '.[{extra}]'"
        )
