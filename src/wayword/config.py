"""Every setting, its meaning, its range and its default: one frozen struct per table of the TOML file."""

import ast
import difflib
import inspect
import json
import tomllib
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct

from wayword.errors import ConfigError

UNBOUNDED = float("inf")
LARGEST_FILE = 1_000_000
"""Bytes of a settings file."""
RENAMED: dict[str, str] = {}
"""Old names of settings, as `table.key`, and their new ones: for one release an old name works, with a warning."""
REMOVED: dict[str, str] = {"demand.max_pairs": "all pairs count"}
"""Settings that are gone, and why: for one release they are ignored, with a warning."""

Count = Annotated[int, Meta(ge=0, le=2**53)]
KeystrokeValue = Annotated[float, Meta(ge=0.0, le=100.0)]
Ratio = Annotated[float, Meta(ge=1e-9)]
Seed = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
TenThousandOrNone = Annotated[int, Meta(ge=0, le=10_000)]
TenThousand = Annotated[int, Meta(ge=1, le=10_000)]
Thousand = Annotated[int, Meta(ge=1, le=1000)]
Weight = Annotated[float, Meta(ge=1.0)]


class Table(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of settings."""


class LogConfig(Table, frozen=True):
    """[log]: how searches are split, and how much old ones weigh."""

    split: Literal["auto", "hash", "time"] = "auto"
    """How searches are dealt to retriever, ranker and test: by md5 of the id, or by time; `auto`: by time if given."""
    half_life_days: Annotated[float, Meta(ge=0.0, le=100_000.0)] = 0.0
    """A search this many days older than the newest weighs half as much in all that is learned (0: as much)."""
    retriever_share: Share = 0.6
    """Share of the searches that train the retriever."""
    ranker_share: Share = 0.3
    """Share of the searches that train the ranker; the rest is the test set."""


class PrefixConfig(Table, frozen=True):
    """[prefixes]: how a log without a prefix column gets its prefixes."""

    start: Literal["characters", "first-word"] = "characters"
    """Where the first admissible cut lies: after `min_chars` characters, or after the first word (the paper)."""
    min_chars: Thousand = 1
    """Shortest admissible prefix, in characters as people see them (graphemes)."""
    passes: Thousand = 5
    """Number of random cuts of each search of the retriever's split (the paper: 15). Ranker and test: one."""
    seed: Seed = 0
    """Seed of the cuts."""


class RankingsConfig(Table, frozen=True):
    """[rankings]: the results of the production ranker."""

    ranker: Literal["bm25", "pecos"] = "bm25"
    """Which ranker answers when a document table is given instead of a rankings table."""
    depth: TenThousand = 100
    """Number of documents collected per query from that ranker."""
    propose: TenThousandOrNone = 0
    """Most queries that are proposed from titles and attributes of the documents, for that ranker (0: none)."""
    on_mismatch: Literal["logged", "error", "drop"] = "logged"
    """A click whose logged rank is not the table's: keep it (the denominator is the logged rank), stop, or drop it."""
    max_unexplained: Share = 0.2
    """Largest share of clicks on a document or from a query without a ranking: they are dropped; more stop the run."""


class PropensityConfig(Table, frozen=True):
    """[propensity]: the probability that a result at each rank is examined."""

    source: Literal["power", "file", "log"] = "power"
    """Where p comes from: a power law, a table (`file`), or an estimate from impressions (`run --impressions`)."""
    alpha: Annotated[float, Meta(ge=0.0, le=10.0)] = 1.0
    """With source "power": p[rank] is proportional to rank^-alpha."""
    file: str = ""
    """With source "file": a table of rank and p, optionally with the interval low to high."""
    period: Literal["none", "day", "week", "month"] = "week"
    """With source "log": ranks are compared within a day, week or month, or (none) over the whole log."""


class UtilityConfig(Table, frozen=True):
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
    max_ratio: Ratio = UNBOUNDED
    """Bounds p[rank_q]/p[logged rank] (the paper's B)."""
    max_weight: Weight = UNBOUNDED
    """Bounds p[1]/p[logged rank]."""
    judgments: Literal["dcg", "mrr"] = "dcg"
    """With graded judgments instead of clicks: what measures a query's ranking."""


class DemandConfig(Table, frozen=True):
    """[demand]: how the demand for documents behind every query is learned."""

    seed: Seed = 0
    """Seed of the models that predict relevance."""


class CompletionConfig(Table, frozen=True):
    """[completion]: the lists that are served."""

    acceptance: str = ""
    """An acceptance model that `wayword acceptance` wrote (a path); by default the documented prior."""
    variants: str = ""
    """A corrected table of variants (CSV or Parquet: query, shown_as); `run` writes one to correct."""
    keystroke_value: Literal["auto"] | KeystrokeValue = "auto"
    """What it is worth to type nothing of a query, in searches found; `auto`: people type as with most popular ones."""


class RetrieverConfig(Table, frozen=True):
    """[retriever]: which queries are proposed for a context."""

    model: Literal["auto", "pecos", "popular"] = "auto"
    """`pecos` is the paper's; `auto` takes it if it is installed and `popular` (prefix-exact) otherwise."""
    candidates: TenThousand = 50
    """Number of queries proposed per context."""
    beam: TenThousand = 20
    """Width of the beam search in the PECOS tree."""
    max_leaf: Annotated[int, Meta(ge=2, le=100_000)] = 25
    """Most queries in one leaf of the PECOS tree."""
    max_instances: Count = 400_000
    """Most instances (a search cut once) that the tree is trained on, chosen by md5 (0: all)."""
    seed: Seed = 0
    """Seed of the clustering that makes the tree."""


class FeaturesConfig(Table, frozen=True):
    """[features]: the ranker's features of a context and a query."""

    encoder: str = "light"
    """Text vectors: `light` (character n-grams + SVD), or a `transformers` model's name or folder (extra `bert`)."""
    dimensions: Annotated[int, Meta(ge=1, le=4096)] = 32
    """Length of a text vector of the light encoder."""
    seed: Seed = 0
    """Seed of the light encoder's SVD."""


class RankerConfig(Table, frozen=True):
    """[ranker]: how the candidates are ordered."""

    model: Literal["xgboost", "linear"] = "xgboost"
    """Boosted trees with the pairwise objective, or logistic regression on feature differences."""
    depth: Annotated[int, Meta(ge=1, le=64)] = 8
    """Depth of a tree."""
    rounds: Annotated[int, Meta(ge=1, le=100_000)] = 200
    """Number of trees, at most."""
    patience: Count = 20
    """Boosting stops when held-out contexts have not gained for this many trees (0, the paper: never)."""
    share: Annotated[float, Meta(ge=1e-6, le=1.0)] = 1.0
    """Share of the ranker's searches that it is trained on, chosen by md5 (the paper: 0.5)."""
    max_contexts: Count = 20000
    """Most distinct contexts to train on, chosen by md5 (0: all)."""
    seed: Seed = 0
    """Seed of the boosting and of the sampled pairs."""


Compared = Literal["popular", "expected", "random", "retriever", "unbiased"]
COMPARED: tuple[Compared, ...] = get_args(Compared)


class EvaluationConfig(Table, frozen=True):
    """[evaluation]: how policies are compared on the test split."""

    compare: tuple[Compared, ...] = ("popular", "expected")
    """Which policies the served one is compared with; random, retriever and unbiased are the paper's."""
    sessions: Annotated[int, Meta(ge=1, le=100_000)] = 1000
    """Number of test searches that are typed again letter by letter; each stands for others of its query."""
    searches: Count = 50_000
    """Number of test searches with a click on which lists are measured, chosen by md5 (0: all)."""
    bootstrap: Annotated[int, Meta(ge=2, le=1_000_000)] = 1000
    """Number of bootstrap replicates for the intervals."""
    level: Annotated[float, Meta(ge=0.5, le=0.9999)] = 0.95
    """Coverage of the intervals."""
    max_ratio: Ratio = UNBOUNDED
    """Bounds p[rank_q]/p[logged rank] in evaluation."""
    max_weight: Weight = UNBOUNDED
    """Bounds p[1]/p[logged rank] in evaluation."""
    seed: Seed = 0
    """Seed of the bootstrap, and of the order of `random`."""


WITHHELD = ("email", "card", "phone")


class IndexConfig(Table, frozen=True):
    """[index]: the lists that are served."""

    policy: Literal["wayword", "expected"] = "wayword"
    """The policy whose lists are served: lists that people take, or single queries of highest expected utility."""
    kept: Thousand = 15
    """Number of queries kept per list: more than a page shows, to replace those that are denied later."""
    withhold: str = " ".join(WITHHELD)
    """Queries that match these patterns are neither shown nor kept in the index."""
    min_users: Count = 0
    """Queries that fewer users searched for are neither shown nor kept, but in sums over so many users (0: all are)."""
    min_searches: Count = 0
    """Queries searched less often are not shown (0: chosen for the log, 2 if those have 90 % of the searches, or 1)."""
    min_results: Count = 1
    """Queries that return fewer documents are not shown."""
    block: str = ""
    """File of words and patterns whose queries are not shown, read again while serving; `english`: extra `words`."""
    versions: Thousand = 3
    """Number of versions of the index that are kept, with the current one."""


class RefreshConfig(Table, frozen=True):
    """[refresh]: new searches in a finished workspace."""

    held_out: Annotated[float, Meta(ge=0.01, le=0.9)] = 0.2
    """Share of the new searches, the newest ones, on which the next version is compared with the current one."""
    full_after: TenThousand = 30
    """Number of refreshes after which a full run is due: it renews the models, which a refresh leaves as they are."""
    full_share: Share = 0.5
    """A full run is also due when refreshes have added this share of the log's searches."""


class CheckConfig(Table, frozen=True):
    """[check]: what `wayword check` finds in a log before anything is learned from it; `run` checks first, too."""

    wrong: Share = 0.2
    """Largest share of the clicks that may disagree with the rankings or the impressions; more are a FAIL."""
    some: Share = 0.02
    """Share of the clicks (or rows) from which on such a finding is worth a WARN."""
    deepest: Annotated[int, Meta(ge=1, le=2**31 - 1)] = 10_000
    """Ranks beyond this one are absurd: nobody scrolls so far."""
    same_rank: Share = 0.98
    """Share of the clicks at one rank from which on the ranks look made up."""
    searches_per_minute: Count = 30
    """More searches of one user in a minute are a program's, not a person's (0: not checked)."""
    searches_per_hour: Count = 200
    """The same in an hour."""
    searches_per_day: Count = 1000
    """The same in a day."""
    user_share: Share = 0.05
    """Largest share of the searches that one user should have."""
    few_test: Count = 100
    """With fewer test searches with a click nothing can be concluded."""
    enough_test: Count = 1000
    """With fewer of them only large differences show."""
    future_hours: Count = 24
    """Times may be so far in the future: clocks differ, and time zones."""
    oldest_year: Annotated[int, Meta(ge=1, le=9999)] = 1995
    """Earlier times are clock errors."""


class RunConfig(Table, frozen=True):
    """[run]: the machine. Results do not depend on it."""

    memory: str = ""
    """Memory that a run should stay within, such as "8GB" (empty: no bound); tables and features wait on disk."""


class Config(Struct, frozen=True, forbid_unknown_fields=True):
    """All tables of `wayword.toml`."""

    log: LogConfig = LogConfig()
    check: CheckConfig = CheckConfig()
    prefixes: PrefixConfig = PrefixConfig()
    rankings: RankingsConfig = RankingsConfig()
    propensity: PropensityConfig = PropensityConfig()
    utility: UtilityConfig = UtilityConfig()
    demand: DemandConfig = DemandConfig()
    completion: CompletionConfig = CompletionConfig()
    retriever: RetrieverConfig = RetrieverConfig()
    features: FeaturesConfig = FeaturesConfig()
    ranker: RankerConfig = RankerConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    index: IndexConfig = IndexConfig()
    refresh: RefreshConfig = RefreshConfig()
    run: RunConfig = RunConfig()

    @classmethod
    def load(cls, path: Path | str | None) -> "Config":
        """Read a TOML file; None gives the defaults."""
        if path is None:
            return cls()
        try:
            with Path(path).open("rb") as file:
                content = file.read(LARGEST_FILE + 1)
            if len(content) > LARGEST_FILE:
                raise ConfigError(
                    f"Found more than {LARGEST_FILE:,} bytes in {path}; expected settings in TOML."
                )
            tables = tomllib.loads(content.decode())
        except (OSError, ValueError, RecursionError) as problem:  # a TOMLDecodeError is a ValueError
            raise ConfigError(f"Cannot read the configuration {path}: {problem}") from problem
        return cls.parse(tables)

    @classmethod
    def parse(cls, tables: dict[str, Any]) -> "Config":
        """Check a mapping of tables against the structs above.

        >>> Config.parse({"propensity": {"alpha": 0.8}}).propensity.alpha
        0.8
        >>> Config.parse({"propensity": {"alfa": 0.8}})  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        wayword.errors.ConfigError: Unknown key 'alfa' in [propensity]. Did you mean 'alpha'? Known: ...
        """
        known = get_type_hints(cls)
        parsed = {}
        for table, values in _with_new_names(tables).items():
            if table not in known:
                raise ConfigError(_unknown("table", table, "the configuration", list(known)))
            if not isinstance(values, dict):
                raise ConfigError(
                    f"Found {table} = {values!r}; expected a table: [{table}] with keys below it."
                )
            parsed[table] = _parse_table(table, known[table], values)
        config = cls(**parsed)
        _check_together(config)
        return config

    def saved(self) -> dict[str, dict[str, Any]]:
        """As plain JSON values, for the manifest; what is unbounded is left out."""
        tables = msgspec.to_builtins(self)
        tables = json.loads(json.dumps(tables))  # tuples are lists there
        return {t: {k: v for k, v in values.items() if v != UNBOUNDED} for t, values in tables.items()}

    def of_stage(self, *tables: str) -> dict[str, Any]:
        """The named tables as plain values under the one key `settings`: a part of what a stage depends on."""
        return {"settings": {table: msgspec.to_builtins(getattr(self, table)) for table in tables}}


def _with_new_names(tables: dict[str, Any]) -> dict[str, Any]:
    """The tables with the settings of `RENAMED` under their new names, where a value under the new name counts, and
    without those of `REMOVED`."""
    tables = {table: dict(values) if isinstance(values, dict) else values for table, values in tables.items()}
    for old, new in RENAMED.items():
        (old_table, old_key), (new_table, new_key) = old.split("."), new.split(".")
        values, renamed = tables.get(old_table), tables.get(new_table, {})
        if isinstance(values, dict) and isinstance(renamed, dict) and old_key in values:
            message = f"The setting {old} is now {new}; the next release will not know its old name."
            warnings.warn(message, FutureWarning, stacklevel=3)
            renamed.setdefault(new_key, values.pop(old_key))
            tables[new_table] = renamed
            if not values:
                del tables[old_table]
    for gone, reason in REMOVED.items():
        table, key = gone.split(".")
        if isinstance(tables.get(table), dict) and key in tables[table]:
            message = f"The setting {gone} is gone: {reason}. The next release will not know it."
            warnings.warn(message, FutureWarning, stacklevel=3)
            del tables[table][key]
    return tables


def _parse_table(table: str, kind: type[Table], values: dict[str, Any]) -> Any:
    types = get_type_hints(kind, include_extras=True)
    parsed = {}
    for key, value in values.items():
        if key not in types:
            raise ConfigError(_unknown("key", key, f"[{table}]", list(types)))
        try:
            parsed[key] = msgspec.convert(value, types[key])
        except msgspec.ValidationError:
            expected = _expected(types[key], value)
            raise ConfigError(f"Found {table}.{key} = {value!r}; expected {expected}.") from None
    return kind(**parsed)


def _unknown(kind: str, name: str, place: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.0)
    return f"Unknown {kind} {name!r} in {place}. Did you mean {close[0]!r}? Known: {', '.join(known)}."


def _expected(kind: Any, value: Any) -> str:
    """Describe the values of a type, given one that is not among them: the type, or its range."""
    if get_origin(kind) is Literal:
        return f"one of {', '.join(map(repr, get_args(kind)))}"
    if get_origin(kind) is tuple:
        return f"a list of any of {', '.join(map(repr, get_args(get_args(kind)[0])))}"
    if get_origin(kind) is Union:
        return " or ".join(_expected(option, value) for option in get_args(kind))
    if get_origin(kind) is not Annotated:
        return str(kind.__name__)
    base, limits = get_args(kind)
    if isinstance(value, bool) or not isinstance(value, int if base is int else int | float):
        return str(base.__name__)
    return f"a number from {limits.ge:g} to {UNBOUNDED if limits.le is None else limits.le:g}"


def _check_together(config: Config) -> None:
    """Check what no single type can say."""
    if unknown := [name for name in config.index.withhold.split() if name not in WITHHELD]:
        raise ConfigError(
            f"Found {', '.join(map(repr, unknown))} in index.withhold; expected any of {', '.join(WITHHELD)}."
        )
    _check_propensity(config.propensity)
    shares = (config.log.retriever_share, config.log.ranker_share)
    if not sum(shares) < 1.0:
        raise ConfigError(
            f"Found shares {shares} of retriever and ranker; their sum must leave a test set (< 1)."
        )


def _check_propensity(config: PropensityConfig) -> None:
    if config.source == "file" and not config.file:
        raise ConfigError(
            'Found propensity.source = "file" without propensity.file; expected a table of rank and p.'
        )
    if config.source != "file" and config.file:
        raise ConfigError(
            f'Found propensity.file = {config.file!r} with source = "{config.source}"; set source = "file" to use it.'
        )


def as_toml() -> str:
    """Every table and key with its meaning and default, ready to be edited."""
    return "\n".join(_table_as_toml(name, getattr(Config(), name)) for name in Config.__struct_fields__)


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
