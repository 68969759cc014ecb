"""Makes a real incident: a deploy that starves a payment service of database connections."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from attrs import evolve, field, frozen

from harness.demo._checks import whole
from harness.demo._config import ServiceConfig, describe_changes, read_config, write_config
from harness.demo._http import serving
from harness.demo._load import LoadCounts, LoadPlan, put_under_load, sampling_metrics
from harness.demo._log import LogWriter, utc_now
from harness.demo._service import PaymentService
from harness.errors import HarnessError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from datetime import datetime
    from pathlib import Path

_BEFORE = ServiceConfig(version="2.3.1", pool_size=20, acquire_timeout_ms=120, fraud_check_ms=0)
_AFTER = evolve(_BEFORE, version="2.4.0", pool_size=5, fraud_check_ms=300)
_CALM = LoadPlan(clients=4, requests=8, pause_ms=20)
_BURST = LoadPlan(clients=16, requests=4)


@frozen(kw_only=True)
class IncidentPlan:
    """
    What is to happen, and how much of it at most.

    Attributes:
        before: The configuration of the calm phase.
        after: The configuration that the deploy brings.
        calm: The load before the deploy.
        burst: The load after it.
        sample_ms: How often the metrics are sampled.
    """

    before: ServiceConfig = _BEFORE
    after: ServiceConfig = _AFTER
    calm: LoadPlan = _CALM
    burst: LoadPlan = _BURST
    sample_ms: int = field(default=50, validator=whole(1))


@frozen(kw_only=True)
class Incident:
    """
    What an incident left behind, and what was really observed while it happened.

    Attributes:
        log: The service's log.
        config: The service's configuration, as the deploy left it.
        deploys: The history of deploys.
        metrics: The service's metrics as JSON lines, sampled while it was under load.
        started: When the service first started.
        deployed: When the deploy was made.
        ended: When the service stopped.
        calm: What clients saw before the deploy.
        burst: What clients saw after it.
    """

    log: Path
    config: Path
    deploys: Path
    metrics: Path
    started: datetime
    deployed: datetime
    ended: datetime
    calm: LoadCounts
    burst: LoadCounts


class IncidentError(HarnessError):
    """
    The incident could not be made.

    Attributes:
        folder: Where it was to be made.
        reason: What stood in the way.
    """

    def __init__(self, folder: Path, reason: str) -> None:
        super().__init__(folder, reason)
        self.folder = folder
        self.reason = reason

    def __str__(self) -> str:
        return f"no incident was made in {self.folder}: {self.reason}"


def make_incident(
    folder: Path,
    *,
    plan: IncidentPlan | None = None,
    progress: Callable[[str], None] = lambda _: None,
    now: Callable[[], datetime] = utc_now,
) -> Incident:
    """
    Run a payment service into a real incident; takes two or three seconds.

    The service runs calmly, is deployed anew with a smaller pool and a slow query, and gets more
    load than that pool can carry. It listens on loopback only; when the function returns or
    raises, its port, threads and files are closed.

    Args:
        folder: An existing, writable folder that holds no incident yet.
        plan: What is to happen; the default is what ``python -m harness demo`` shows.
        progress: Called with a line of text as each phase begins.
        now: The wall clock.

    Returns:
        The incident's files, and what was observed.

    Raises:
        IncidentError: If the folder can't be used, or if what happened was no such incident: a
            request failed in the calm phase, or none failed for want of a connection in the burst.
    """
    try:
        incident = _Scene(folder, plan or IncidentPlan(), progress, now).play()
    except (OSError, sqlite3.Error) as error:
        raise IncidentError(folder, str(error)) from error
    _check_observed(folder, incident)
    return incident


def _check_observed(folder: Path, incident: Incident) -> None:
    if incident.calm.exhausted or incident.calm.broken:
        raise IncidentError(folder, f"requests failed before the deploy: {incident.calm}")
    if not incident.burst.exhausted:
        raise IncidentError(folder, f"the pool did not run out under load: {incident.burst}")


class _Scene:
    def __init__(
        self,
        folder: Path,
        plan: IncidentPlan,
        progress: Callable[[str], None],
        now: Callable[[], datetime],
    ) -> None:
        self._folder = folder
        self._plan = plan
        self._progress = progress
        self._now = now
        self._log, self._config, self._deploys, self._metrics = (
            folder / name for name in ("service.log", "config.json", "deploys.log", "metrics.jsonl")
        )

    def play(self) -> Incident:
        plan = self._plan
        self._claim_folder()
        started = self._now()
        self._deploy(plan.before, "first release")
        calm = self._run_phase("calm", plan.calm)
        deployed = self._now()
        self._deploy(plan.after, describe_changes(plan.before, plan.after))
        burst = self._run_phase("burst", plan.burst)
        return Incident(
            log=self._log,
            config=self._config,
            deploys=self._deploys,
            metrics=self._metrics,
            started=started,
            deployed=deployed,
            ended=self._now(),
            calm=calm,
            burst=burst,
        )

    def _claim_folder(self) -> None:
        # "x" refuses a folder that holds an incident already: two would mix in one log.
        self._log.open("x").close()

    def _deploy(self, config: ServiceConfig, changed: str) -> None:
        self._progress(f"deploy {config.version}: {changed}")
        write_config(self._config, config)
        with LogWriter(self._deploys, self._now) as history:
            history.write("INFO", f"deployed payment-service version={config.version}: {changed}")

    def _run_phase(self, label: str, load: LoadPlan) -> LoadCounts:
        self._progress(f"{label}: {load.clients} clients, {load.requests} requests each")
        with self._running_service() as port:
            sampling = sampling_metrics(
                port, self._metrics, every_ms=self._plan.sample_ms, now=self._now
            )
            with sampling:
                return put_under_load(port, load, label=label)

    @contextmanager
    def _running_service(self) -> Generator[int]:
        # Each deploy starts the service anew from its files, as a real one does.
        with (
            LogWriter(self._log, self._now) as log,
            PaymentService(read_config(self._config), self._folder / "payments.db", log) as service,
            serving(service, log) as port,
        ):
            yield port
