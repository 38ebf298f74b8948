"""Agreement of a query and a document by text, in plain Python."""

from math import log, log1p

from small_graphs import Small


def slow_text_match(small: Small, pair: tuple[int, int]) -> dict[str, float]:
    """For texts, names and titles of lower-case words."""
    query, document = pair
    texts = [set(text.split()) for text in small.texts]
    names = small.names or [str(a) for a in range(small.p.shape[1])]

    def rarity(words: set[str]) -> list[float]:
        often = [max(sum(word in text for text in texts), 1) for word in words]
        return [log(len(texts)) + 1 - log(n) for n in often]

    def of_name(a: int) -> set[str]:
        words = names[a].split("-")
        return {part for word in words for part in (word, word.rstrip("0123456789")) if part}

    asked, title, name = texts[query], _title(small, document), of_name(document)
    both, first = asked & title, _first(small, query)
    shortest = min(len(names[document]), len(names[first]))
    begun = max(n for n in range(shortest + 1) if names[document][:n] == names[first][:n])
    like = sum(rarity(name | of_name(first)))
    return {
        "title_query_share": sum(rarity(both)) / sum(rarity(asked)),
        "title_title_share": sum(rarity(both)) / sum(rarity(title)) if title else 0.0,
        "title_common_words": float(len(both)),
        "title_query_rest": sum(rarity(asked - title)),
        "title_title_rest": sum(rarity(title - asked)),
        "title_rarest_query_rest": max(rarity(asked - title), default=0.0),
        "title_rarest_title_rest": max(rarity(title - asked), default=0.0),
        "title_rarest_common": max(rarity(both), default=0.0),
        "title_words": float(len(title)),
        "name_query_share": sum(rarity(name & asked)) / sum(rarity(name)) if name else 0.0,
        "name_first_jaccard": sum(rarity(name & of_name(first))) / like if like else 0.0,
        "name_words": float(len(name)),
        "name_common_prefix": float(begun),
        "name_common_prefix_of_first": begun / len(names[first]),
        "name_common_prefix_of_name": begun / len(names[document]),
        "name_length": float(len(names[document])),
        "name_is_first": float(document == first),
    }


def _first(small: Small, query: int) -> int:
    return max(range(small.p.shape[1]), key=lambda a: (small.p[query, a], -a))


def _title(small: Small, document: int) -> set[str]:
    """The title, or the words of a query that shows the document best and is most like the others that show it."""
    if small.titles and small.titles[document]:
        return set(small.titles[document].split())
    texts, shown = [set(text.split()) for text in small.texts], small.p[:, document]

    def shared(query: int) -> float:
        by = [sum(p for text, p in zip(texts, shown, strict=True) if word in text) for word in texts[query]]
        return sum(map(log1p, by)) / len(by)

    best = [q for q in range(len(texts)) if shown[q] == shown.max()]
    return texts[max(best, key=lambda q: (shared(q), -q))]
