"""Stage `check`: what was found in the files before they were read for learning."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from wayword.check.finding import Finding
from wayword.check.findings import Given, findings
from wayword.config import Config
from wayword.engines.duck import DuckDB
from wayword.store.memory import limit_of_tables
from wayword.store.stage import Report

CHECK = "check"
"""The name of the stage."""


def write(out: Path, given: Given, settings: Config) -> Report:
    """Check the files; the findings are the report. It names files without their folders, which do not matter."""
    engine = DuckDB(spill=out, memory=limit_of_tables())
    files = [file for file in (given.log, given.rankings, given.impressions) if file is not None]

    def without_folders(text: str) -> str:
        for file in files:
            text = text.replace(str(file), file.path.name)
        return text

    try:
        found = [asdict(one) for one in findings(engine, given, settings)]
    finally:
        engine.close()
    return {
        "findings": [
            {name: without_folders(value) if isinstance(value, str) else value for name, value in one.items()}
            for one in found
        ]
    }


def of_report(report: Mapping[str, Any]) -> list[Finding]:
    """The findings of a report of this stage."""
    return [Finding(**{**one, "examples": tuple(one["examples"])}) for one in report.get("findings", ())]
