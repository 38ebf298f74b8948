"""HTTP parameters: one description that requests are read by and that OpenAPI publishes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

from wayword.request import ANY, MAX_PREFIX, MODES, check_choice, check_number
from wayword.serving.http import Refused, split_query

CONTEXT = "context."
"""A parameter that begins so gives the value of a context column."""
MOST_COMPLETIONS = 100
LONGEST_USER = 256
SERVED, POPULAR = POLICIES = ("served", "popular")


@dataclass(frozen=True)
class Parameter:
    """A parameter of the query string; `most` makes it a whole number from 1, `choices` one of some words."""

    name: str
    meaning: str
    required: bool = False
    default: str | int | None = None
    choices: tuple[str, ...] = ()
    longest: int = 0
    most: int = 0

    @cached_property
    def values(self) -> Mapping[str, Any]:
        """The value of each admissible text; empty for a parameter that takes any text."""
        return {choice: choice for choice in self.choices} | {str(n): n for n in range(1, self.most + 1)}

    def refuse(self, text: str) -> NoReturn:
        """Raise `WaywordError`: what was found, what was expected."""
        if self.most:
            check_number(self.name, text, self.most)
        if self.choices:
            check_choice(self.name, text, self.choices)
        raise Refused(
            400, f"Found a {self.name} of {len(text):,} characters; expected at most {self.longest:,}."
        )

    def described(self) -> dict[str, Any]:
        """The same as OpenAPI has it."""
        schema: dict[str, Any] = {"type": "integer", "minimum": 1, "maximum": self.most}
        if not self.most:
            schema = {"type": "string"}
        if self.choices:
            schema["enum"] = list(self.choices)
        if self.longest:
            schema["maxLength"] = self.longest
        if self.default is not None:
            schema["default"] = self.default
        described = {"name": self.name, "in": "query", "description": self.meaning}
        return {**described, "required": self.required, "schema": schema}


_PREFIX = Parameter("prefix", "The typed text.", required=True, longest=MAX_PREFIX)
_MODE = Parameter(
    "mode",
    "prefix: only completions of the typed text; any: every query that leads there.",
    default=ANY,
    choices=MODES,
)
_USER = Parameter("user", "The user's identifier: assigns an arm of an A/B test.", longest=LONGEST_USER)
COMPLETE = (
    _PREFIX,
    _MODE,
    _USER,
    Parameter("k", "Number of completions.", default=10, most=MOST_COMPLETIONS),
    Parameter(
        "policy",
        "The policy of the index, or most popular completion, to compare.",
        default=SERVED,
        choices=POLICIES,
    ),
)
EXPLAIN = (
    _PREFIX,
    _MODE,
    _USER,
    Parameter("query", "The suggested query.", required=True, longest=MAX_PREFIX),
)


def overrides(arms: Sequence[str]) -> tuple[Parameter, ...]:
    """Those of `/overrides`: the arm must be named where there are two."""
    single = arms[0] if len(arms) == 1 else None
    return (Parameter("arm", "The index.", required=single is None, default=single, choices=tuple(arms)),)


class Values(NamedTuple):
    """The value of every parameter, and the context columns."""

    of: Mapping[str, Any]
    context: Mapping[str, str]


def read(query_string: str, expected: Sequence[Parameter]) -> Values:
    """The values of the parameters, defaults included; raises `WaywordError` for what is unknown or invalid.

    >>> read("prefix=vid&context.shop=de", EXPLAIN[:2])
    Values(of={'prefix': 'vid', 'mode': 'any'}, context={'shop': 'de'})
    >>> read("promt=vid", EXPLAIN)
    Traceback (most recent call last):
    wayword.serving.http.Refused: Unknown parameter `promt`; did you mean `prefix`? Expected prefix, mode, user, query.
    """
    given = split_query(query_string)
    context = {name[len(CONTEXT) :]: given.pop(name) for name in list(given) if name.startswith(CONTEXT)}
    names = [parameter.name for parameter in expected]
    for name in given:
        if name not in names:
            raise _unknown(name, names)
    values: dict[str, Any] = {}
    for parameter in expected:
        text = given.get(parameter.name)
        if text is None:
            if parameter.required:
                raise Refused(400, f"The parameter {parameter.name} is missing: add ?{parameter.name}=….")
            values[parameter.name] = parameter.default
        elif text in parameter.values:
            values[parameter.name] = parameter.values[text]
        elif parameter.longest and len(text) <= parameter.longest:
            values[parameter.name] = text
        else:
            parameter.refuse(text)
    return Values(values, context)


def _unknown(name: str, known: Sequence[str]) -> Refused:
    nearest = get_close_matches(name[:100].lower(), known, n=1, cutoff=0.3)
    hint = f"; did you mean `{nearest[0]}`?" if nearest else "."
    return Refused(400, f"Unknown parameter `{name[:100]}`{hint} Expected {', '.join(known)}.")
