"""Writes docs/configuration.md from the settings in the source; a test keeps the two equal."""

from pathlib import Path

from wayword.config import as_toml

PAGE = Path(__file__).parent.parent / "docs" / "configuration.md"


def page() -> str:
    """The page as it should be."""
    return (
        "# Settings\n\nGive a TOML file to `wayword run --config wayword.toml`. Leave out what you do not change; "
        "an unknown key is an error.\n`wayword config` prints this file.\n\n"
        f"```toml\n{as_toml()}```\n\n"
        "A stage runs again when one of its own settings, its input files or an earlier stage changes.\n"
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
