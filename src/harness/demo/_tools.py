"""The tools that read what the incident left behind, and one that asks the service itself."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import datetime
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING

from harness import Fact, FunctionTool, tool
from harness.demo._http import LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Iterator


def metrics_tool(path: Path) -> FunctionTool:
    """
    Make the tool that searches the sampled metrics.

    Args:
        path: The JSON lines file of the samples.

    Returns:
        A tool named ``metrics``. Its facts are lines of the file.
    """

    @tool(name="metrics")
    def metrics(metric: str, at_least: int, since: str, until: str) -> list[Fact]:
        """
        The first and last sample between two times whose metric is at least a value.
        """
        found = [
            fact
            for fact in _lines(path)
            if _is_within(str(_sample(fact)["time"]), since, until)
            and _number(_sample(fact).get(metric)) >= at_least
        ]
        return list(dict.fromkeys([*found[:1], *found[-1:]]))

    return metrics


def live_metrics_tool(port: int, *, timeout: float) -> FunctionTool:
    """
    Make the tool that asks a running service for its metrics.

    Args:
        port: The service's loopback port.
        timeout: How many seconds the service may take.

    Returns:
        A tool named ``metrics``, with the parameters of :func:`metrics_tool`. Where the service
        is down, or does not answer, so is the tool.
    """

    @tool(name="metrics")
    def metrics(metric: str, at_least: int, since: str, until: str) -> Fact | None:
        """
        The service's metrics as of now, if a metric is at least a value.
        """
        del since, until  # a running service tells of now only
        with closing(HTTPConnection(LOOPBACK, port, timeout=timeout)) as connection:
            connection.request("GET", "/metrics")
            fact = Fact(connection.getresponse().read().decode(), f"{LOOPBACK}:{port}/metrics")
        return fact if _number(_sample(fact).get(metric)) >= at_least else None

    return metrics


def config_tool(path: Path) -> FunctionTool:
    """
    Make the tool that reads the service's configuration.

    Args:
        path: The JSON file.

    Returns:
        A tool named ``config``. Its facts are lines of the file.
    """

    @tool(name="config")
    def config(settings: list[str]) -> list[Fact]:
        """
        The lines of the service's configuration that hold the named settings.
        """
        named = tuple(f'"{name}":' for name in settings)
        return [fact for fact in _lines(path) if fact.text.startswith(named)]

    return config


def deploys_tool(path: Path) -> FunctionTool:
    """
    Make the tool that reads the history of deploys.

    Args:
        path: The history, a timestamped line for each deploy.

    Returns:
        A tool named ``deploys``. Its facts are lines of the file.
    """

    @tool(name="deploys")
    def deploys(since: str, until: str) -> list[Fact]:
        """
        The deploys between two times, and what each changed.
        """
        return [fact for fact in _lines(path) if _is_within(fact.text.split()[0], since, until)]

    return deploys


def _lines(path: Path) -> Iterator[Fact]:
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            yield Fact(line.strip(), f"{path.name}:{number}")


def _sample(fact: Fact) -> dict[str, object]:
    return dict(json.loads(fact.text))


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _is_within(time: str, since: str, until: str) -> bool:
    return parse_time(since) <= parse_time(time) <= parse_time(until)


def parse_time(text: str) -> datetime:
    """
    Read a time as the incident's files write it.

    Args:
        text: ISO 8601 with its zone.

    Returns:
        The time.

    Raises:
        ValueError: If the text is no such time.
    """
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        message = f"time is {text!r}; allowed: ISO 8601 with its zone"
        raise ValueError(message)
    return time
