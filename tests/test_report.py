"""What the estimates make people do."""

from wayword.report import FEW, _advice


def gains(low: float, high: float) -> dict[str, dict[str, float]]:
    return {"popular": {"value": (low + high) / 2, "low": low, "high": high}}


def test_a_log_on_which_popular_is_better_says_so_and_only_then() -> None:
    (said,) = _advice(FEW, gains(-0.2, -0.1))
    assert "--policy popular" in said
    assert _advice(FEW, gains(-0.2, 0.1)) == []
    assert _advice(FEW, gains(0.1, 0.2)) == []


def test_few_test_searches_are_called_a_trial() -> None:
    (said,) = _advice(FEW - 1, gains(0.1, 0.2))
    assert said.startswith("Only 99 test searches")
