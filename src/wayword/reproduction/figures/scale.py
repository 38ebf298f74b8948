"""Scales of a drawing: limits that do not mislead, and few round ticks."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from wayword.reproduction.report.numerals import number, power

_LEAST = 0.04
"""The least share of a value's size that a linear scale spans, so that noise is not drawn as a mountain."""
_ZERO = 0.5
"""A scale of positive numbers starts at zero as long as the values keep this share of it."""


@dataclass(frozen=True)
class Scale:
    """The limits of an axis, its ticks, and what is written at them."""

    low: float
    high: float
    ticks: tuple[float, ...]
    labels: tuple[str, ...]
    log: bool = False

    @property
    def cut(self) -> bool:
        """Whether positive numbers are drawn on a linear scale that does not start at zero."""
        return not self.log and self.low > 0


def scale(
    values: Iterable[float],
    *,
    log: bool = False,
    zero: bool = True,
    ticks: Sequence[float] | None = None,
    pad: float = 0.06,
) -> Scale:
    """A scale that holds all finite values; a logarithmic one only if some value is positive."""
    finite = [float(value) for value in values if math.isfinite(value)]
    positive = [value for value in finite if value > 0]
    if log and positive:
        low, high = _log_limits(min(positive), max(positive), pad)
        chosen = _inside(ticks, low, high) if ticks is not None else _log_ticks(low, high)
        return Scale(low, high, chosen, log_labels(chosen), log=True)
    low, high = _limits(finite or [0.0], zero=zero, pad=pad)
    if ticks is not None:
        chosen = _inside(ticks, low, high)
        return Scale(low, high, chosen, tuple(map(short, chosen)))
    alone = not zero and len(set(finite)) == 1
    chosen = (finite[0],) if alone else round_ticks(low, high)
    return Scale(low, high, chosen, labels(chosen))


def _limits(values: list[float], *, zero: bool, pad: float) -> tuple[float, float]:
    """The limits of a linear scale.

    >>> _limits([0.1, 0.5], zero=True, pad=0.1)
    (0.0, 0.55)
    >>> _limits([0.0], zero=True, pad=0.1)
    (0.0, 1.0)
    """
    low, high = min(values), max(values)
    if low == high == 0:
        return (0.0, 1.0) if zero else (-1.0, 1.0)
    if zero and low >= 0 and high - low >= _ZERO * high:
        return 0.0, high * (1 + pad)
    if zero and high <= 0 and high - low >= _ZERO * -low:
        return low * (1 + pad), 0.0
    size = max(abs(low), abs(high))
    if high - low < _LEAST * size:
        middle, half = (low + high) / 2, _LEAST * size / 2
        low, high = middle - half, middle + half
    room = (high - low) * pad
    return low - room, high + room


def _log_limits(low: float, high: float, pad: float) -> tuple[float, float]:
    """The limits of a logarithmic scale: a tenth of a decade at least, and room at both ends."""
    bottom, top = math.log10(low), math.log10(high)
    room = max((top - bottom) * pad, 0.1 if top - bottom < 0.1 else 0.03)
    return _exp10(bottom - room), _exp10(top + room)


def _exp10(exponent: float) -> float:
    return 10.0 ** min(max(exponent, -300.0), 300.0)


def _inside(ticks: Sequence[float], low: float, high: float) -> tuple[float, ...]:
    return tuple(float(tick) for tick in ticks if low <= tick <= high)


def round_ticks(low: float, high: float, most: int = 6) -> tuple[float, ...]:
    """At most so many multiples of 1, 2, 2.5 or 5 times a power of ten.

    >>> round_ticks(0.0, 1.06)
    (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    """
    for step in _steps((high - low) / most):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < most:
            return tuple(float(f"{index * step:.12g}") for index in range(first, last + 1))
    return (low, high)


def _steps(least: float) -> list[float]:
    decade = 10.0 ** math.floor(math.log10(least))
    return [decade * factor for factor in (1, 2, 2.5, 5, 10, 20) if decade * factor >= least * 0.999]


def _log_ticks(low: float, high: float, most: int = 7) -> tuple[float, ...]:
    """Powers of ten, every second or third of them if there are many; 1, 2, 5 within less than three decades.

    >>> _log_ticks(90, 12_000), _log_ticks(1, 30)
    ((100.0, 1000.0, 10000.0), (1.0, 2.0, 5.0, 10.0, 20.0))
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    decades = [index for index in range(first, last + 1) if low <= _exp10(index) <= high]
    if len(decades) >= 3:
        every = math.ceil(len(decades) / most)
        return tuple(float(f"1e{index}") for index in decades if index % every == 0)
    fine = [float(f"{factor}e{index}") for index in range(first, last + 1) for factor in (1, 2, 5)]
    inside = _inside(fine, low, high)
    return inside if len(inside) >= 2 else round_ticks(low, high, 4)


def labels(ticks: Sequence[float]) -> tuple[str, ...]:
    """Ticks with the same digits after the point, as many as tell them apart.

    >>> labels((0.0, 0.25, 0.5)), labels((0.0, 2e-6))
    (('0.00', '0.25', '0.50'), ('0', '2×10⁻⁶'))
    """
    size = max((abs(tick) for tick in ticks), default=0.0)
    if size and not 1e-4 <= size < 1e7:
        return tuple(power(tick, 3) if tick else "0" for tick in ticks)
    for digits in range(9):
        if all(abs(round(tick, digits) - tick) <= 1e-9 * size for tick in ticks):
            return tuple(number(tick, digits, sized=True) for tick in ticks)
    return tuple(f"{tick:g}".replace("-", "−") for tick in ticks)


def short(value: float) -> str:
    """One number as short as it can be written.

    >>> short(1000.0), short(0.01), short(1e-7), short(1e7)
    ('1,000', '0.01', '10⁻⁷', '10⁷')
    """
    return labels((value,))[0]


def log_labels(ticks: Sequence[float]) -> tuple[str, ...]:
    """Powers of ten in one manner: with zeros if all are of a size for that, else raised.

    >>> log_labels((0.01, 1.0, 100.0)), log_labels((1e-6, 1.0, 1e6))
    (('0.01', '1', '100'), ('10⁻⁶', '1', '10⁶'))
    """
    if all(1e-4 <= tick < 1e7 for tick in ticks):
        return tuple(map(short, ticks))
    return tuple("1" if tick == 1 else power(tick, 3) for tick in ticks)
