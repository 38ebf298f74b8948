"""The display form of a query: its most frequent spelling, fit to be shown.

Spellings that differ in white space and invisible characters only are one. A spelling with markup or code is not used;
if a query has no other, its normalised text is displayed.
"""

import unicodedata

import regex

from wayword.text import JOINERS

_MARKUP = regex.compile(
    r"""
      <[/!?]?[a-z][^<>]*>                             # a tag
    | <\s*(?:script|style|iframe|img|svg|body|a)\b       # a tag that does not end
    | <!--|-->|\]\]>
    | &(?:\#\d{1,7}|\#x[0-9a-f]{1,6}|[a-z]{2,8}\d?);      # a character reference
    | (?:https?|ftp)://\S* | \bjavascript: | \bdata:\w+/  # an address
    | \bwww\.\S+\?\S+=
    | \$\{[^}]*\}? | \{\{.*\}\} | <% | %> | \#\{          # a template
    | \bunion\s+(?:all\s+)?select\b | \bselect\b.+\bfrom\b.+\bwhere\b | \bdrop\s+table\b | \binsert\s+into\b.+\bvalues\b
    | \bdelete\s+from\b.+\bwhere\b | \b(?:sleep|benchmark|waitfor)\s*\(
    | ['")]\s*(?:or|and)\s+['"(]?\w+['")]?\s*=\s*['"(]?\w
    | ;\s*--
    | \b(?:function|alert|eval|document\.cookie)\s*[(=]
    | \.\./\.\./ | /etc/passwd
    | %[0-9a-f]{2}\S*%[0-9a-f]{2}                        # an encoded address
    """,
    regex.VERBOSE | regex.IGNORECASE,
)
LONGEST_CHECKED = 2000
"""Number of characters of a spelling that are checked; a longer one is not used."""
_TIME = 0.05
"""Seconds for one spelling; one that takes longer is not used."""


def has_markup(raw: str) -> bool:
    """Whether a text as it was typed contains markup, an address, a template or code.

    >>> [has_markup(text) for text in ("<b>tv</b>", "a &amp; b", "${jndi:ldap}", "x' or '1'='1", "https://a.example/?q=1")]
    [True, True, True, True, True]
    >>> [has_markup(text) for text in ("at&t", "tv < 50 inch", "c++", "select comfort bed", "100%")]
    [False, False, False, False, False]
    """
    if len(raw) > LONGEST_CHECKED:
        return True
    try:
        return bool(_MARKUP.search(raw, timeout=_TIME))
    except TimeoutError:
        return True


def spelling(raw: str) -> str:
    """The text without control and invisible characters, white space squeezed; empty if it has markup.

    >>> spelling("  TV \\t Stand\\x00 "), spelling("<b>TV</b> stand")
    ('TV Stand', '')
    """
    if len(raw) > LONGEST_CHECKED:
        return ""
    plain = raw if raw.isascii() and raw.isprintable() else "".join(map(_visible, raw))
    squeezed = " ".join(plain.split())
    return "" if has_markup(raw) or has_markup(squeezed) else squeezed


def _visible(character: str) -> str:
    category = unicodedata.category(character)
    if category in ("Cc", "Cs"):
        return " "
    return "" if category == "Cf" and character not in JOINERS else character
