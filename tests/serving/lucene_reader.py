"""Lucene, which completes in Elasticsearch, OpenSearch and Solr, as a reader of exported files."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

PACKAGES = "default-jdk-headless liblucene8-java libjackson2-databind-java"
PROGRAM = Path(__file__).with_name("Suggest.java")
FOLDER = Path("/usr/share/java")
JARS = (
    "lucene-core-8*.jar",
    "lucene-suggest-8*.jar",
    "lucene-analyzers-common-8*.jar",
    "jackson-core.jar",
    "jackson-annotations.jar",
    "jackson-databind.jar",
)


def suggested(form: str, file: Path, prefixes: Iterable[str], count: int) -> list[list[str]]:
    """What it suggests for each prefix: so many queries at most, best first."""
    command = ["java", "-cp", _jars(), str(PROGRAM), form, str(file), str(count)]
    asked = "".join(json.dumps(prefix) + "\n" for prefix in prefixes)
    done = subprocess.run(command, input=asked, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.split("\n") if line]


def _jars() -> str:
    found = [next(FOLDER.glob(jar), None) for jar in JARS]
    if None in found or not shutil.which("javac"):
        missing = pytest.fail if "WAYWORD_NEEDS_LUCENE" in os.environ else pytest.skip
        missing(f"Lucene is not installed (.ci/run installs it: apt-get install {PACKAGES})")
    return os.pathsep.join(map(str, found))
