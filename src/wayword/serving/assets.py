"""Static files: the page, the script for other sites and the API docs, read once into memory."""

import zlib
from importlib.resources import files
from typing import NamedTuple

from wayword.serving.http import Headers

TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
ADDRESSES = {"index.html": "/", "docs.html": "/docs", "wayword.js": "/wayword.js"}
"""Paths of the files that are not under /assets/."""
POLICY = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
ANYONE = ("access-control-allow-origin", "*")
"""Any site may load scripts and styles."""


class Asset(NamedTuple):
    """A file with its headers."""

    headers: Headers
    content: bytes
    tag: str


def read() -> dict[str, Asset]:
    """All files by path."""
    return {
        ADDRESSES.get(file.name, f"/assets/{file.name}"): _asset(file.name, file.read_bytes())
        for file in (files("wayword.serving") / "web").iterdir()
        if file.is_file() and file.name.rpartition(".")[2] in TYPES
    }


def _asset(name: str, content: bytes) -> Asset:
    kind, tag = name.rpartition(".")[2], f'"{zlib.crc32(content):08x}"'
    headers = [
        ("content-type", TYPES[kind]),
        ("etag", tag),
        ("cache-control", "no-cache"),
        ("x-content-type-options", "nosniff"),
    ]
    headers += (
        [("content-security-policy", POLICY), ("referrer-policy", "same-origin")]
        if kind == "html"
        else [ANYONE]
    )
    return Asset(headers, content, tag)
