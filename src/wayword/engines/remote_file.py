"""Input files that an engine reads itself: the URL of a Parquet file, or of a folder of them."""

from functools import cached_property
from pathlib import Path
from typing import NoReturn

from wayword.engines.storage import Storage
from wayword.errors import LogError
from wayword.store.input_file import InputFile


class RemoteFile(InputFile):
    """What a URL names. Its hash is of the names, sizes and times of the files, of which no content is read here."""

    def __init__(self, url: str) -> None:
        self.storage = Storage.at(url)
        self.path = Path(self.storage.path)
        if not self.storage.listing():
            raise LogError(f"There is no file {url}; expected a Parquet file, or a folder of them.")

    def __str__(self) -> str:
        return self.storage.url

    @property
    def opened(self) -> NoReturn:  # type: ignore[override]
        """Only the engine reads it."""
        raise LogError(f"{self} is read by the engine; this step needs a file of this machine.")

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(one.size for one in self.storage.listing())

    @cached_property
    def digest(self) -> str:
        """The hash of what the folder lists."""
        return self.storage.digest()

    def check(self) -> None:
        """Raise `LogError` if files came, went or were written since they were listed."""
        if self.storage.digest() != self.digest:
            raise LogError(
                f"{self} changed during the run: another program wrote it while it was read. Nothing made from it is "
                "kept. Run the same command again when it is complete."
            )
