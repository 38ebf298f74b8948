"""Credentials of an engine: from the environment or a file only, and in no message."""

import base64
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, quote_plus

from wayword.errors import EngineError
from wayword.store.regular_file import read_regular

LARGEST = 100_000
"""Bytes of a file of credentials."""
AUTHORIZATION = "Authorization"
_SCHEME = re.compile(r"(?:Basic|Bearer|ApiKey|AWS4-HMAC-SHA256|Digest|Negotiate|Token) \S", re.IGNORECASE)


@dataclass(frozen=True)
class Credentials:
    """`user:password`, or the value of an HTTP header such as `Bearer …`."""

    _text: str = field(repr=False)
    header: str = AUTHORIZATION

    @classmethod
    def read(
        cls, *, variable: str | None = None, file: Path | None = None, header: str = AUTHORIZATION
    ) -> "Credentials | None":
        """Read an environment variable or a file; None if neither is given."""
        if variable is None and file is None:
            return None
        if variable is not None and file is not None:
            raise EngineError("Found credentials from the environment and from a file; expected one of them.")
        place = f"environment variable {variable}" if variable is not None else f"file {file}"
        try:
            text = (
                os.environ.get(variable, "") if variable else read_regular(file or Path(), LARGEST)
            ).strip()
        except (OSError, ValueError) as problem:
            raise EngineError(f"Cannot read the credentials in the {place}: {problem}") from None
        if not text or not text.isprintable() or not text.isascii():
            raise EngineError(
                f"The {place} is empty, or has more than one line or other characters than ASCII; expected "
                "user:password, or the value of the header that authorises."
            )
        if not re.fullmatch(r"[A-Za-z0-9-]+", header):
            raise EngineError(f"Found the header {header!r}; expected a name such as X-Api-Key.")
        credentials = cls(text, header)
        if header == AUTHORIZATION and not credentials._is_header and ":" not in text:
            raise EngineError(
                f"The {place} holds neither user:password nor the value of a header, such as `Bearer …` or `ApiKey …`."
            )
        return credentials

    @property
    def _is_header(self) -> bool:
        return self.header != AUTHORIZATION or bool(_SCHEME.match(self._text))

    def headers(self) -> dict[str, str]:
        """The header that authorises a request."""
        return {self.header: self._text if self._is_header else f"Basic {self._encoded}"}

    @property
    def user_and_password(self) -> tuple[str, str]:
        """The two parts of `user:password`."""
        user, colon, password = self._text.partition(":")
        if self._is_header or not colon:
            raise EngineError("Found the value of a header as credentials; expected user:password.")
        return user, password

    def redact(self, text: str) -> str:
        """The text without the secret, in every form in which a server may repeat it.

        >>> Credentials("ann:open sesame").redact("no user ann with Basic YW5uOm9wZW4gc2VzYW1l or open%20sesame")
        'no user ann with Basic *** or ***'
        """
        password = self._text.partition(":")[2] if not self._is_header else self._text.partition(" ")[2]
        plain = [self._text, *([password] if password else [])]
        forms = [
            form for one in plain for form in (one, quote(one, safe=""), quote_plus(one), repr(one)[1:-1])
        ]
        for form in sorted({*forms, self._encoded}, key=len, reverse=True):
            text = text.replace(form, "***")
        return text

    @property
    def _encoded(self) -> str:
        return base64.b64encode(self._text.encode()).decode()
