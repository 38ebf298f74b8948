"""The command that prints the settings."""

from wayword.cli import shell


def config() -> None:
    """Print every setting with its meaning and default, as a TOML file.

    Example: `wayword config > wayword.toml`
    """
    from wayword.config import as_toml

    shell.write(as_toml().rstrip("\n"))
