"""Values as people and programs write them: what stands for nothing, ranks with signs or words, addresses of searches.

Each is SQL for a text of a column, the text itself where it is as it should be.
"""

_NOTHING = (
    r"'(?i) *(?:-|--|—|–|n/a|#n/a|none|null|nil|nan|undefined|\(not set\)|\(none\)|\(null\)|unknown|unbekannt|k\.a\.|"
    r"k\. a\.|\\n) *'"
)
"""Words that stand for nothing, as a regular expression: an IN list would be looked up for every row."""
LONGEST = 9
"""Bytes of the longest word that stands for nothing."""
_THOUSANDS = r"'^\d{1,3}([.,''’ \x{a0}\x{202f}]\d{3})+$'"
_RANK = (
    r"'^(?:#|n[ro]\.?|n°|pos\.?|position|posición|platz|rang|rank|place|\()?\s*(\d{1,9})(?:[.,]0+)?\s*"
    r"(?:\.|\)|st|nd|rd|th|er|e|ème|º|ª|°|(?:/|von|of|de|sur|di|van|out of)\s*\d+)?$'"
)
_SEARCH = (
    r"'[?&#;](?:q|query|s|search|keyword|keywords|term|text|suche|search_query|searchterm|k|w|wd|p)=([^&#]*)'"
)


def present(column: str) -> str:
    """SQL for a text, null where a word says that there is none."""
    return f"""CASE WHEN strlen({column}) > {LONGEST + 2} OR ascii({column}) BETWEEN 48 AND 57 THEN {column}
                    WHEN NOT regexp_full_match({column}, {_NOTHING}) THEN {column} END"""


def rank(column: str) -> str:
    """SQL for a rank as digits: of `#4`, `4.`, `4,0`, `Platz 4`, `4 of 24`, `1.015` (thousands)."""
    plain = f"lower(trim({column}))"
    return f"""CASE WHEN TRY_CAST({column} AS UINTEGER) IS NOT NULL AND NOT contains({column}, '.') THEN {column}
        WHEN regexp_full_match({column}, {_NOTHING}) THEN NULL
        WHEN TRY_CAST({column} AS DOUBLE) = floor(TRY_CAST({column} AS DOUBLE)) THEN {column}
        WHEN regexp_matches({plain}, {_THOUSANDS}) THEN regexp_replace({plain}, '\\D', '', 'g')
        WHEN regexp_matches({plain}, {_RANK}) THEN regexp_extract({plain}, {_RANK}, 1)
        ELSE {column} END"""


def searched(column: str) -> str:
    """SQL for the query in the address of a result page, as in `https://shop.example/search?q=red+lamp`."""
    found = f"nullif(regexp_extract({column}, {_SEARCH}, 1), '')"
    return f"""CASE WHEN {found} IS NOT NULL THEN coalesce(TRY(url_decode(replace({found}, '+', ' '))), {found})
                    WHEN NOT regexp_matches({column}, '^(https?:/)?/') THEN {column} END"""
