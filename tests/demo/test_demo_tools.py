"""The tools that read the incident's files."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness._values import Fact
from harness.demo import Incident
from harness.demo._http import serving
from harness.demo._log import LogWriter, iso_milliseconds
from harness.demo._outages import closed_port, silent_port
from harness.demo._service import PaymentService
from harness.demo._tools import (
    config_tool,
    deploys_tool,
    live_metrics_tool,
    metrics_tool,
    parse_time,
)

_SAMPLES = [
    {"time": f"2026-01-31T09:05:0{second}.000Z", "pool_waiting": waiting}
    for second, waiting in enumerate([0, 2, 9, 4, 0])
]
_ALL = ("2026-01-31T09:05:00Z", "2026-01-31T09:06:00Z")


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    """Five samples, a second apart, of which the inner three show waiting."""
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(json.dumps(sample) + "\n" for sample in _SAMPLES))
    return path


def _sources(facts: list[Fact]) -> list[str]:
    return [fact.source for fact in facts]


@pytest.mark.parametrize(
    ("metric", "at_least", "span", "found"),
    [
        ("pool_waiting", 1, _ALL, ["metrics.jsonl:2", "metrics.jsonl:4"]),
        ("pool_waiting", 9, _ALL, ["metrics.jsonl:3"]),
        ("pool_waiting", 10, _ALL, []),
        ("pool_size", 1, _ALL, []),
        ("time", 1, _ALL, []),
        ("pool_waiting", 1, ("2026-01-31T09:05:02Z", "2026-01-31T09:05:02Z"), ["metrics.jsonl:3"]),
        ("pool_waiting", 0, ("2026-01-31T10:05:00Z", "2026-01-31T10:06:00Z"), []),
    ],
)
def test_metrics_are_searched(
    samples: Path, metric: str, at_least: int, span: tuple[str, str], found: list[str]
) -> None:
    """The first and the last sample that match are found, both ends of the span included."""
    assert _sources(metrics_tool(samples)(metric, at_least, *span)) == found


def test_every_fact_is_a_line_of_its_file(incident: Incident) -> None:
    """What the file tools find stands verbatim in the line that they name."""
    span = (iso_milliseconds(incident.started), iso_milliseconds(incident.ended))
    facts = [
        *metrics_tool(incident.metrics)("pool_timeouts", 1, *span),
        *config_tool(incident.config)(["pool_size", "version"]),
        *deploys_tool(incident.deploys)(*span),
    ]
    assert len(facts) == 6
    for fact in facts:
        name, _, number = fact.source.partition(":")
        assert fact.text in (incident.log.parent / name).read_text().splitlines()[int(number) - 1]


def test_only_the_named_settings_are_read(incident: Incident) -> None:
    """A setting is named exactly; one that is not there has no line."""
    found = config_tool(incident.config)(["pool_size", "pool", "size"])
    assert found == [Fact('"pool_size": 5,', "config.json:3")]


def test_deploys_are_found_by_time(incident: Incident) -> None:
    """Only the deploys of the span are found."""
    span = (iso_milliseconds(incident.deployed), iso_milliseconds(incident.ended))
    assert _sources(deploys_tool(incident.deploys)(*span)) == ["deploys.log:2"]


@pytest.fixture
def live(service: PaymentService, log: LogWriter) -> Iterator[int]:
    """The port of a running service."""
    with serving(service, log) as port:
        yield port


def test_a_running_service_tells_its_metrics(live: int) -> None:
    """The fact is what the service answered, and names where."""
    fact = live_metrics_tool(live, timeout=10)("pool_size", 2, *_ALL)
    assert json.loads(fact.text)["pool_size"] == 2
    assert fact.source == f"127.0.0.1:{live}/metrics"
    assert live_metrics_tool(live, timeout=10)("pool_size", 3, *_ALL) is None


def test_a_service_that_is_down_is_an_error() -> None:
    """Nobody listens: the connection is refused."""
    with closed_port() as port, pytest.raises(ConnectionRefusedError):
        live_metrics_tool(port, timeout=10)("pool_size", 1, *_ALL)


def test_a_service_that_hangs_is_a_timeout() -> None:
    """The connection is accepted and never answered: the tool gives up in its own time."""
    with silent_port() as port, pytest.raises(TimeoutError):
        live_metrics_tool(port, timeout=0.01)("pool_size", 1, *_ALL)


@pytest.mark.parametrize("text", ["", "yesterday", "2026-01-31T09:05:07"])
def test_a_time_needs_its_zone(text: str) -> None:
    """Text that is no time, or could be any zone's, is refused."""
    with pytest.raises(ValueError, match=r"time is|Invalid isoformat"):
        parse_time(text)


def test_both_metrics_tools_are_asked_alike(tmp_path: Path) -> None:
    """The live tool can take the place of the one that reads the file."""
    stored, live = metrics_tool(tmp_path / "metrics.jsonl"), live_metrics_tool(1, timeout=1)
    assert (stored.name, stored.parameters) == (live.name, live.parameters)
    assert list(stored.parameters or ()) == ["metric", "at_least", "since", "until"]
