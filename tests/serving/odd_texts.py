"""Texts that people, or programs, may send: nothing of them is a reason to fail."""

ODD = (
    "",
    " ",
    "video",
    "VIDEO ",
    "x" * 10_000,
    "\0",
    "\n",
    "a\tb\x07",
    "tv\x1fde",
    "مرحبا",
    "👩‍👩‍👧",
    "\ud800",
    "...",
    "-",
    "İ",
    "ﬁ",
)
