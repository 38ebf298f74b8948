"""Stage `check`: what was found in the files before they were read for learning."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from wayword.check.finding import Finding
from wayword.check.findings import Given, findings
from wayword.config import Config
from wayword.engines.duck import DuckDB
from wayword.store.stage import Report

CHECK = "check"
"""The name of the stage."""


def write(out: Path, given: Given, settings: Config) -> Report:
    """Check the files; the findings are the report."""
    engine = DuckDB(spill=out)
    try:
        return {"findings": [asdict(one) for one in findings(engine, given, settings)]}
    finally:
        engine.close()


def of_report(report: Mapping[str, Any]) -> list[Finding]:
    """The findings of a report of this stage."""
    return [Finding(**{**one, "examples": tuple(one["examples"])}) for one in report.get("findings", ())]
