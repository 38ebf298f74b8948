import datetime
import tomllib
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from wayword import config as module
from wayword.config import LARGEST_FILE, UNBOUNDED, Config, as_toml, meanings
from wayword.errors import ConfigError

TABLES = {table: getattr(Config(), table) for table in Config.__struct_fields__}
KEYS = [(table, key) for table, values in TABLES.items() for key in values.__struct_fields__]
NUMBERS = [(t, k) for t, k in KEYS if isinstance(getattr(TABLES[t], k), int | float)]


def test_the_printed_configuration_parses_back_to_the_defaults() -> None:
    printed = tomllib.loads(as_toml())
    assert Config.parse(printed) == Config()
    assert [(table, key) for table, values in printed.items() for key in values] == KEYS


@pytest.mark.parametrize(("table", "key"), KEYS)
def test_every_key_says_what_it_means(table: str, key: str) -> None:
    meaning = meanings(type(TABLES[table]))[key]
    assert meaning.endswith(".")
    assert f"# {meaning}\n{key} = " in as_toml()


def test_what_is_saved_parses_back() -> None:
    config = Config.parse({"utility": {"max_ratio": 10}, "features": {"encoder": "some/model"}})
    assert Config.parse(config.saved()) == config
    assert Config.parse(Config().saved()) == Config()


def test_whole_numbers_are_floats_where_floats_are_expected() -> None:
    alpha = Config.parse({"propensity": {"alpha": 2}}).propensity.alpha
    assert (alpha, type(alpha)) == (2.0, float)


@pytest.mark.parametrize(("table", "key"), NUMBERS)
def test_every_number_has_a_range_that_its_default_is_in_and_nan_is_not(table: str, key: str) -> None:
    _, limits = get_args(get_type_hints(type(TABLES[table]), include_extras=True)[key])
    low, high = limits.ge, UNBOUNDED if limits.le is None else limits.le
    assert low <= getattr(TABLES[table], key) <= high
    outside: list[Any] = [float("nan"), low - 1]
    for value in outside if high == UNBOUNDED else [*outside, high + 1, 10**400]:
        with pytest.raises(ConfigError, match=f"Found {table}.{key} = "):
            Config.parse({table: {key: value}})


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        (
            {"propensity": {"alfa": 1}},
            r"Unknown key 'alfa' in \[propensity\]. Did you mean 'alpha'\? Known: source, alpha, file",
        ),
        (
            {"propencity": {"alpha": 1}},
            r"Unknown table 'propencity' .* Did you mean 'propensity'\? Known: log, ",
        ),
        ({"": {}}, "Unknown table ''"),
        ({"log": 3}, r"Found log = 3; expected a table: \[log\]"),
        ({"log": {"split": "random"}}, "Found log.split = 'random'; expected one of 'auto', 'hash', 'time'"),
        ({"log": {"split": ["hash"]}}, "expected one of 'auto', 'hash', 'time'"),
        ({"prefixes": {"passes": "5"}}, "Found prefixes.passes = '5'; expected int"),
        ({"prefixes": {"passes": 5.0}}, "Found prefixes.passes = 5.0; expected int"),
        ({"prefixes": {"passes": True}}, "Found prefixes.passes = True; expected int"),
        ({"propensity": {"alpha": True}}, "Found propensity.alpha = True; expected float"),
        ({"propensity": {"alpha": datetime.date(2024, 1, 1)}}, "expected float"),
        ({"propensity": {"alpha": {}}}, "expected float"),
        ({"features": {"encoder": 3}}, "Found features.encoder = 3; expected str"),
        ({"log": {"retriever_share": 0.7}}, r"shares \(0.7, 0.3\) .* must leave a test set"),
    ],
)
def test_what_cannot_be_used_is_named_with_what_can(tables: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Config.parse(tables)


@pytest.mark.parametrize(
    "content",
    [b"alpha", b"\xff\xfe", b"[a]\n[a]\n", b"x = " + b"[" * 100_000, b"{}", b"a = 2024-13-45", b"\x00"],
    ids=["no value", "not UTF-8", "table twice", "nested deeply", "JSON", "no date", "NUL"],
)
def test_a_file_that_is_not_toml_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "wayword.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"Cannot read the configuration .*wayword\.toml: "):
        Config.load(path)


def test_nan_in_toml_is_out_of_range(tmp_path: Path) -> None:
    path = tmp_path / "wayword.toml"
    path.write_text("[propensity]\nalpha = nan\n")
    with pytest.raises(ConfigError, match=r"Found propensity.alpha = nan; expected a number from 0 to 10"):
        Config.load(path)


def test_an_old_name_works_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RENAMED", {"looks.power": "propensity.alpha", "log.parts": "log.split"})
    with pytest.warns(FutureWarning, match=r"looks\.power is now propensity\.alpha"):
        assert Config.parse({"looks": {"power": 2}}).propensity.alpha == 2.0
    with pytest.warns(FutureWarning, match=r"log\.parts is now log\.split"):
        assert Config.parse({"log": {"parts": "time", "ranker_share": 0.2}}).log.split == "time"
    both = {"looks": {"power": 2}, "propensity": {"alpha": 3}}
    with pytest.warns(FutureWarning):
        assert Config.parse(both).propensity.alpha == 3.0
    with pytest.warns(FutureWarning), pytest.raises(ConfigError, match=r"Found propensity\.alpha = 'x'"):
        Config.parse({"looks": {"power": "x"}})
    with pytest.raises(ConfigError, match="Found log = 3"):
        Config.parse({"log": 3})


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Config().propensity.alpha = 2.0  # type: ignore[misc]


@pytest.mark.parametrize("path", [".", "there/is/no.toml", "a\0b"])
def test_a_file_that_is_not_there_is_refused(path: str) -> None:
    with pytest.raises(ConfigError, match="Cannot read the configuration"):
        Config.load(path)


def test_no_file_gives_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "empty.toml").write_text("")
    assert Config.load(None) == Config.load(tmp_path / "empty.toml") == Config()


def test_a_file_that_is_no_settings_file_is_not_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "wayword.toml"
    file.write_bytes(b"#" * LARGEST_FILE)
    assert Config.load(file) == Config()
    file.write_bytes(b"#" * (LARGEST_FILE + 1))
    with pytest.raises(ConfigError, match="Found more than 1,000,000 bytes"):
        Config.load(file)
