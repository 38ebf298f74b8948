"""Every setting, its meaning and its default: one frozen dataclass per table of the TOML file."""

import ast
import difflib
import inspect
import json
import tomllib
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from wayword.errors import ConfigError

UNBOUNDED = float("inf")
_LARGEST_WHOLE = 2**1000  # far out of every range, and still a float


@dataclass(frozen=True)
class LogConfig:
    """[log]: how searches are split."""

    split: Literal["hash", "time"] = "hash"
    """How searches are dealt to retriever, ranker and test: by md5 of the search id, or by time (oldest first)."""
    retriever_share: float = 0.6
    """Share of the searches that train the retriever."""
    ranker_share: float = 0.3
    """Share of the searches that train the ranker; the rest is the test set."""


@dataclass(frozen=True)
class PrefixConfig:
    """[prefixes]: how a log without a prefix column gets its prefixes."""

    start: Literal["characters", "first-word"] = "characters"
    """Where the first admissible cut lies: after `min_chars` characters, or after the first word (the paper)."""
    min_chars: int = 1
    """Shortest admissible prefix, in characters as people see them (graphemes)."""
    passes: int = 5
    """How many random cuts each search of the retriever's split gives (the paper: 15). Ranker and test: one."""
    seed: int = 0
    """Chooses the cuts."""


@dataclass(frozen=True)
class RankingsConfig:
    """[rankings]: what the production ranker answers."""

    ranker: Literal["bm25", "pecos"] = "bm25"
    """Which ranker answers when a document table is given instead of a rankings table."""
    depth: int = 100
    """How many documents are collected per query by that ranker."""
    on_mismatch: Literal["logged", "error", "drop"] = "logged"
    """A click whose logged rank is not the table's: keep it (the denominator is the logged rank), stop, or drop it."""


@dataclass(frozen=True)
class PropensityConfig:
    """[propensity]: how likely each rank is looked at."""

    alpha: float = 1.0
    """p[rank] is proportional to rank^-alpha."""


@dataclass(frozen=True)
class UtilityConfig:
    """[utility]: the labels that the ranker learns from. The test has bounds of its own, in `[evaluation]`."""

    variant: Literal[
        "unbiased",
        "biased",
        "prescient",
        "prescient@5",
        "prescient@1",
        "misspecified@0.5",
        "misspecified@2",
    ] = "unbiased"
    """The label: the paper's estimator, or one of its ablations."""
    max_ratio: float = UNBOUNDED
    """Bounds p[rank_q]/p[logged rank] (the paper's B)."""
    max_weight: float = UNBOUNDED
    """Bounds p[1]/p[logged rank]."""
    judgments: Literal["dcg", "mrr"] = "dcg"
    """With graded judgments instead of clicks: what measures a query's ranking."""


@dataclass(frozen=True)
class DemandConfig:
    """[demand]: what people want behind every query, which `expected` goes by."""

    max_pairs: int = 10_000_000
    """Learn from at most so many pairs of a query and a document it returns: those most looked at, and the clicked."""
    seed: int = 0
    """Of the boosting that learns which documents are wanted."""


@dataclass(frozen=True)
class RetrieverConfig:
    """[retriever]: which queries are proposed for a context."""

    model: Literal["auto", "pecos", "popular"] = "auto"
    """`pecos` is the paper's; `auto` takes it if it is installed and `popular` (prefix-exact) otherwise."""
    candidates: int = 50
    """How many queries are proposed per context."""
    beam: int = 20
    """Width of the beam search in the PECOS tree."""
    max_leaf: int = 25
    """Most queries in one leaf of the PECOS tree."""
    max_instances: int = 400_000
    """Train the tree on at most so many instances (a search cut once), chosen by md5 (0: all)."""
    seed: int = 0
    """Of the clustering that makes the tree."""


@dataclass(frozen=True)
class FeaturesConfig:
    """[features]: what the ranker knows of a context and a query."""

    encoder: str = "light"
    """Text vectors: `light` (character n-grams + SVD), or a `transformers` model's name or folder (extra `bert`)."""
    dimensions: int = 32
    """Length of a text vector of the light encoder."""
    seed: int = 0
    """Of the light encoder's SVD."""


@dataclass(frozen=True)
class RankerConfig:
    """[ranker]: how the candidates are ordered."""

    model: Literal["xgboost", "linear"] = "xgboost"
    """Boosted trees with the pairwise objective, or logistic regression on feature differences."""
    depth: int = 8
    """Depth of a tree."""
    rounds: int = 200
    """How many trees."""
    share: float = 1.0
    """Share of the ranker's searches that it is trained on, chosen by md5 (the paper: 0.5)."""
    max_contexts: int = 20000
    """Train on at most so many distinct contexts, chosen by md5 (0: all)."""
    seed: int = 0
    """Of the boosting and of the sampled pairs."""


@dataclass(frozen=True)
class EvaluationConfig:
    """[evaluation]: how policies are compared on the test split."""

    compare: tuple[str, ...] = ("popular",)
    """Which policies the served one is compared with: popular, diverse, and the paper's random, retriever, unbiased."""
    bootstrap: int = 1000
    """How often the searches are resampled for the intervals."""
    level: float = 0.95
    """Coverage of the intervals."""
    max_ratio: float = UNBOUNDED
    """Bounds p[rank_q]/p[logged rank] in evaluation."""
    max_weight: float = UNBOUNDED
    """Bounds p[1]/p[logged rank] in evaluation."""
    seed: int = 0
    """Of the resampling, and of the order of `random`."""


COMPARED = ("popular", "diverse", "random", "retriever", "unbiased")
WITHHELD = ("email", "card", "phone")


@dataclass(frozen=True)
class IndexConfig:
    """[index]: what is served."""

    policy: Literal["expected", "diverse"] = "expected"
    """Which policy's lists are served."""
    acceptance: float = 0.0
    """From utility (0) to what people would have typed anyway (1)."""
    kept: int = 15
    """So many queries of a list are kept: what a page shows and some to spare, for what is denied later."""
    withhold: str = " ".join(WITHHELD)
    """Queries that look like these are never shown, nor kept in the index."""
    min_users: int = 0
    """Queries that fewer people have searched for are never shown, where the log says who searched (0: all are)."""
    versions: int = 3
    """So many versions of the index are kept, the current one among them."""


@dataclass(frozen=True)
class Config:
    """All tables of `wayword.toml`."""

    log: LogConfig = field(default_factory=LogConfig)
    prefixes: PrefixConfig = field(default_factory=PrefixConfig)
    rankings: RankingsConfig = field(default_factory=RankingsConfig)
    propensity: PropensityConfig = field(default_factory=PropensityConfig)
    utility: UtilityConfig = field(default_factory=UtilityConfig)
    demand: DemandConfig = field(default_factory=DemandConfig)
    retriever: RetrieverConfig = field(default_factory=RetrieverConfig)
    features: FeaturesConfig = field(default_factory=FeaturesConfig)
    ranker: RankerConfig = field(default_factory=RankerConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    index: IndexConfig = field(default_factory=IndexConfig)

    @classmethod
    def load(cls, path: Path | str | None) -> "Config":
        """Read a TOML file; None gives the defaults."""
        if path is None:
            return cls()
        try:
            tables = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as problem:  # a TOMLDecodeError is a ValueError
            raise ConfigError(f"Cannot read the configuration {path}: {problem}") from problem
        return cls.parse(tables)

    @classmethod
    def parse(cls, tables: dict[str, Any]) -> "Config":
        """Check a mapping of tables against the dataclasses above.

        >>> Config.parse({"propensity": {"alpha": 0.8}}).propensity.alpha
        0.8
        >>> Config.parse({"propensity": {"alfa": 0.8}})
        Traceback (most recent call last):
        wayword.errors.ConfigError: Unknown key 'alfa' in [propensity]. Did you mean 'alpha'? Known: alpha.
        """
        config = cls()
        known = [f.name for f in fields(cls)]
        for table, values in tables.items():
            if table not in known:
                raise ConfigError(_unknown("table", table, "the configuration", known))
            if not isinstance(values, dict):
                raise ConfigError(
                    f"Found {table} = {values!r}; expected a table: [{table}] with keys below it."
                )
            config = replace(config, **{table: _parse_table(table, getattr(config, table), values)})
        _check_ranges(config)
        return config

    def saved(self) -> dict[str, dict[str, Any]]:
        """As plain JSON values, for the manifest; what is unbounded is left out."""
        tables = asdict(self)
        return {t: {k: v for k, v in values.items() if v != UNBOUNDED} for t, values in tables.items()}

    def of_stage(self, *tables: str) -> dict[str, Any]:
        """The named tables as plain values under the one key `settings`: a part of what a stage depends on."""
        return {"settings": {table: asdict(getattr(self, table)) for table in tables}}


def _parse_table(table: str, defaults: Any, values: dict[str, Any]) -> Any:
    types = get_type_hints(type(defaults))
    for key, value in values.items():
        if key not in types:
            raise ConfigError(_unknown("key", key, f"[{table}]", list(types)))
        values = {**values, key: _checked(f"{table}.{key}", value, types[key])}
    return replace(defaults, **values)


def _unknown(kind: str, name: str, place: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.0)
    return f"Unknown {kind} {name!r} in {place}. Did you mean {close[0]!r}? Known: {', '.join(known)}."


def _checked(name: str, value: Any, expected: Any) -> Any:
    if get_origin(expected) is Literal:
        if value not in get_args(expected):
            raise ConfigError(
                f"Found {name} = {value!r}; expected one of {', '.join(map(repr, get_args(expected)))}."
            )
        return value
    if expected == tuple[str, ...]:
        unknown = (
            [item for item in value if item not in COMPARED] if isinstance(value, list | tuple) else [value]
        )
        if unknown:
            raise ConfigError(f"Found {name} = {value!r}; expected a list of any of {', '.join(COMPARED)}.")
        return tuple(value)
    if expected is float and isinstance(value, int) and not isinstance(value, bool):
        return float(max(-_LARGEST_WHOLE, min(value, _LARGEST_WHOLE)))
    if not isinstance(value, expected) or isinstance(value, bool):
        raise ConfigError(f"Found {name} = {value!r}; expected {expected.__name__}.")
    return value


_RANGES: dict[str, tuple[float, float]] = {
    "log.retriever_share": (0.0, 1.0),
    "log.ranker_share": (0.0, 1.0),
    "prefixes.min_chars": (1, 1000),
    "prefixes.passes": (1, 1000),
    "rankings.depth": (1, 10000),
    "propensity.alpha": (0.0, 10.0),
    "utility.max_ratio": (1e-9, UNBOUNDED),
    "utility.max_weight": (1.0, UNBOUNDED),
    "demand.max_pairs": (1, 2**53),
    "demand.seed": (0, 2**31 - 1),
    "retriever.candidates": (1, 10000),
    "retriever.beam": (1, 10000),
    "retriever.max_leaf": (2, 100000),
    "retriever.max_instances": (0, 2**53),
    "features.dimensions": (1, 4096),
    "ranker.depth": (1, 64),
    "ranker.rounds": (1, 100000),
    "ranker.share": (1e-6, 1.0),
    "ranker.max_contexts": (0, 2**53),
    "evaluation.bootstrap": (2, 1000000),
    "evaluation.level": (0.5, 0.9999),
    "evaluation.max_ratio": (1e-9, UNBOUNDED),
    "evaluation.max_weight": (1.0, UNBOUNDED),
    "index.acceptance": (0.0, 1.0),
    "index.kept": (1, 1000),
    "index.min_users": (0, 2**53),
    "index.versions": (1, 1000),
    "prefixes.seed": (0, 2**31 - 1),
    "retriever.seed": (0, 2**31 - 1),
    "features.seed": (0, 2**31 - 1),
    "ranker.seed": (0, 2**31 - 1),
    "evaluation.seed": (0, 2**31 - 1),
}


def _check_ranges(config: Config) -> None:
    for name, (low, high) in _RANGES.items():
        table, key = name.split(".")
        value = getattr(getattr(config, table), key)
        if not low <= value <= high:  # NaN fails too
            raise ConfigError(f"Found {name} = {value!r}; expected a number from {low:g} to {high:g}.")
    if unknown := [name for name in config.index.withhold.split() if name not in WITHHELD]:
        raise ConfigError(
            f"Found {', '.join(map(repr, unknown))} in index.withhold; expected any of {', '.join(WITHHELD)}."
        )
    if not config.log.retriever_share + config.log.ranker_share < 1.0:
        shares = (config.log.retriever_share, config.log.ranker_share)
        raise ConfigError(
            f"Found shares {shares} of retriever and ranker; their sum must leave a test set (< 1)."
        )


def as_toml() -> str:
    """Every table and key with its meaning and default, ready to be edited."""
    return "\n".join(_table_as_toml(f.name, getattr(Config(), f.name)) for f in fields(Config))


def _table_as_toml(table: str, defaults: Any) -> str:
    purpose = (type(defaults).__doc__ or "").split(": ", 1)[-1]
    lines = [f"# {purpose[:1].upper()}{purpose[1:]}", f"[{table}]"]
    for name, meaning in meanings(type(defaults)).items():
        value = getattr(defaults, name)
        lines += [f"# {meaning}", f"{name} = {json.dumps(value) if value != UNBOUNDED else 'inf'}"]
    return "\n".join(lines) + "\n"


def meanings(table: type) -> dict[str, str]:
    """What each setting of a table means: the text under its field, read from the source."""
    source = ast.parse(inspect.getsource(table)).body[0]
    notes: dict[str, str] = {}
    for setting, note in pairwise(source.body if isinstance(source, ast.ClassDef) else []):
        if (
            isinstance(setting, ast.AnnAssign)
            and isinstance(note, ast.Expr)
            and isinstance(note.value, ast.Constant)
        ):
            notes[ast.unparse(setting.target)] = str(note.value.value)
    return notes
