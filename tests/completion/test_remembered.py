"""What is remembered is what the function says, and never more than may be kept."""

import threading

from hypothesis import given
from hypothesis import strategies as st

from wayword.completion.remembered import Remembered

TEXTS = st.lists(st.text("ab", max_size=12))


@given(TEXTS, st.integers(0, 40))
def test_results_are_those_of_the_function_and_bounded(texts: list[str], most: int) -> None:
    remembered = Remembered(str.upper, size=len, most=most)
    for text in texts:
        assert remembered(text) == text.upper()
        assert sum(map(len, remembered._found.values())) == remembered._total <= most


def test_what_is_asked_again_stays() -> None:
    asked: list[str] = []

    def echo(text: str) -> str:
        asked.append(text)
        return text

    remembered = Remembered(echo, size=len, most=3)
    for text in ("a", "b", "a", "c", "a", "d", "a"):
        remembered(text)
    assert asked == ["a", "b", "c", "d"]


def test_one_result_larger_than_all_is_returned_but_not_kept() -> None:
    remembered = Remembered(str.upper, size=len, most=3)
    assert remembered("long") == "LONG"
    assert not remembered._found


def test_threads_share_it() -> None:
    remembered = Remembered(str.upper, size=len, most=50)
    texts = ["a" * n for n in range(1, 20)] * 50
    wrong: list[str] = []

    def ask() -> None:
        wrong.extend(text for text in texts if remembered(text) != text.upper())

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert sum(map(len, remembered._found.values())) == remembered._total <= 50
