"""How numbers are written for people: a true minus, thousands apart, powers of ten where zeros would hide the value."""

import math

MISSING = "–"
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def power(value: float, digits: int = 1) -> str:
    """A number with its power of ten; a mantissa of 1 is left out.

    >>> power(0.00001234), power(1e9), power(-2.5e-7)
    ('1.2×10⁻⁵', '10⁹', '−2.5×10⁻⁷')
    """
    mantissa, _, exponent = f"{value:.{digits}e}".partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    ten = "10" + str(int(exponent)).translate(_RAISED)
    written = {"1": ten, "-1": f"-{ten}"}.get(mantissa, f"{mantissa}×{ten}")
    return written.replace("-", "−")


def number(value: float | int | None, digits: int = 3, *, sign: bool = False, sized: bool = False) -> str:
    """A number with so many digits after the point; `sized` keeps the size of what these digits would call zero.

    >>> number(0.41234), number(12345), number(-0.5, 1), number(0.25, 2, sign=True), number(None)
    ('0.412', '12,345', '−0.5', '+0.25', '–')
    >>> number(0.00001, 3, sized=True), number(-0.00001, 3, sign=True), number(2.5e12, 3)
    ('10⁻⁵', '0.000', '2.5×10¹²')
    """
    if value is None or math.isnan(value):
        return MISSING
    zero = abs(value) < 0.5 * 10.0**-digits
    plus = "+" if sign and value > 0 and not (zero and not sized) else ""
    if math.isinf(value):
        return f"{plus}∞" if value > 0 else "−∞"
    if isinstance(value, int):
        return plus + f"{value:,}".replace("-", "−")
    if value and (abs(value) >= 1e9 or (zero and sized)):
        return plus + power(value)
    return plus + f"{0.0 if zero else value:,.{digits}f}".replace("-", "−")


def span(low: float, high: float, digits: int = 3, *, sign: bool = False) -> str:
    """The ends of an interval; a dash only where no sign could be mistaken for it. Empty without both ends.

    >>> span(0.1, 0.25, 2), span(-0.1, 0.25, 2, sign=True), span(float("nan"), 1.0)
    ('0.10–0.25', '−0.10 to +0.25', '')
    """
    if math.isnan(low) or math.isnan(high):
        return ""
    ends = (number(float(low), digits, sign=sign), number(float(high), digits, sign=sign))
    return (" to " if sign or low < 0 else "–").join(ends)
