"""Alerts are rules that Prometheus understands, about metrics that the server has, raised when they should be."""

import re
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from recipes import DEPLOY, replaced, run

from runs import Made
from servers import serving
from wayword.serving.metrics import Metrics

ALERTS = (DEPLOY / "alerts.yml").read_text(encoding="utf-8")
CASES = Path(__file__).with_name("alerts_test.yml")


def samples(text: str) -> dict[str, dict[str, set[str]]]:
    """Metric → label → its values, in an answer of /metrics."""
    found: dict[str, dict[str, set[str]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = found.setdefault(sample.name, {})
            for name, value in sample.labels.items():
                labels.setdefault(name, set()).add(value)
    return found


def selectors() -> list[tuple[str, dict[str, str]]]:
    """The metrics of the server in the alerts' expressions, with the labels that are asked for."""
    without_texts = re.sub(r"annotations:\n(?: {10}.*\n?)+", "", ALERTS)
    return [
        (name, dict(re.findall(r'(\w+)="([^"]*)"', labels)))
        for name, labels in re.findall(r"\b(wayword_\w+)(\{[^}]*\})?", without_texts)
    ]


def test_the_alerts_name_metrics_and_labels_of_the_server() -> None:
    known = samples(Metrics().text({"a": ("0123456789abcdef", 0.0)}))
    assert len({name for name, _ in selectors()}) >= 8
    for name, labels in selectors():
        assert name in known
        assert all(value in known[name].get(label, ()) for label, value in labels.items()), (name, labels)


@pytest.mark.slow
def test_a_real_answer_has_what_the_alerts_name(undisturbed: Made) -> None:
    with serving(undisturbed.path) as server:
        server.queries("v")
        known = samples(server.get("/metrics").body.decode())
    assert {name for name, _ in selectors()} <= known.keys()


@pytest.mark.slow
def test_prometheus_understands_the_alerts_and_the_settings() -> None:
    for kind, file in (("rules", "alerts.yml"), ("config", "prometheus.yml")):
        done = run("promtool", "check", kind, DEPLOY / file)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_each_alert_is_raised_for_its_reason_and_only_then() -> None:
    done = run("promtool", "test", "rules", CASES)
    assert done.returncode == 0, done.stdout + done.stderr
    names = re.findall(r"- alert: (\w+)", ALERTS)
    cases = CASES.read_text(encoding="utf-8")
    assert names
    for name in names:  # each is raised in one case at least, and not in another
        raised = re.findall(rf"alertname: {name}\n +exp_alerts:", cases)
        assert raised, name
        assert len(re.findall(rf"alertname: {name}\b", cases)) > len(raised), name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("> 0.01 *", "> 0.05 *"),
        ("> 3 * 86400", "> 6 * 86400"),
        ("changes(wayword_start_time_seconds[30m]) > 3", "changes(wayword_start_time_seconds[30m]) > 9"),
    ],
)
def test_the_cases_notice_a_changed_threshold(old: str, new: str, tmp_path: Path) -> None:
    (tmp_path / "alerts.yml").write_text(replaced(ALERTS, {old: new}), encoding="utf-8")
    cases = replaced(CASES.read_text(encoding="utf-8"), {"../../deploy/alerts.yml": "alerts.yml"})
    (tmp_path / "cases.yml").write_text(cases, encoding="utf-8")
    done = run("promtool", "test", "rules", tmp_path / "cases.yml")
    assert done.returncode == 1
    assert "FAILED" in done.stdout + done.stderr
