"""The incident is real: what the files say is what the clients saw."""

import json
import os
import pickle
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

import pytest
from attrs import evolve

from harness.demo import Incident, IncidentError, IncidentPlan, LoadCounts, make_incident
from harness.demo._config import read_config
from harness.demo._load import LoadPlan

_DEFAULT = IncidentPlan()
#: The same incident, shorter.
_QUICK = IncidentPlan(
    after=evolve(_DEFAULT.after, acquire_timeout_ms=20),
    calm=LoadPlan(clients=2, requests=2),
    burst=LoadPlan(clients=16, requests=1),
)
#: Nothing goes wrong in this one.
_HARMLESS = evolve(_QUICK, after=_DEFAULT.before, burst=_QUICK.calm)


def _lines(incident: Incident) -> list[str]:
    return incident.log.read_text().splitlines()


def _samples(incident: Incident) -> list[dict[str, int]]:
    return [json.loads(line) for line in incident.metrics.read_text().splitlines()]


def _time(line: str) -> datetime:
    return datetime.fromisoformat(line.split(maxsplit=1)[0])


def test_the_pool_really_ran_out(incident: Incident) -> None:
    """Every payment that a client saw fail stands in the log as an exhausted pool, and no other."""
    exhausted = [
        line
        for line in _lines(incident)
        if "ERROR payment refused because the connection pool is exhausted" in line
    ]
    assert len(exhausted) == incident.burst.exhausted > 0
    assert all("size=5 in_use=5" in line for line in exhausted)
    assert sum("status=503" in line for line in _lines(incident)) == incident.burst.exhausted


def test_only_the_pool_failed(incident: Incident) -> None:
    """No request of the burst failed in any other way, and some were still paid."""
    assert incident.burst.broken == 0
    assert incident.burst.paid + incident.burst.exhausted == 64
    assert incident.burst.paid > 0


def test_the_calm_phase_had_no_failure(incident: Incident) -> None:
    """Before the deploy every payment was recorded and the log holds no error."""
    assert incident.calm == LoadCounts(paid=32)
    before = [line for line in _lines(incident) if _time(line) < incident.deployed]
    assert not [line for line in before if " ERROR " in line or " WARN " in line]


def test_the_metrics_show_the_waiting(incident: Incident) -> None:
    """Under the old configuration nobody waited; under the new one callers did, and gave up."""
    old = [sample for sample in _samples(incident) if sample["pool_size"] == 20]
    new = [sample for sample in _samples(incident) if sample["pool_size"] == 5]
    assert (old[-1]["pool_waiting_peak"], old[-1]["pool_timeouts"]) == (0, 0)
    assert new[-1]["pool_waiting_peak"] > 0
    assert new[-1]["pool_timeouts"] == new[-1]["requests_failed"] == incident.burst.exhausted


def test_the_deploys_name_the_cause(incident: Incident) -> None:
    """The history holds both deploys, and the second says what it changed."""
    first, second = incident.deploys.read_text().splitlines()
    assert first.endswith(" deployed payment-service version=2.3.1: first release")
    assert second.endswith(
        "version=2.4.0: changed pool_size from 20 to 5, fraud_check_ms from 0 to 300"
    )
    assert incident.started <= incident.deployed <= incident.ended


def test_the_config_is_the_deployed_one(incident: Incident) -> None:
    """The configuration file is as the second deploy left it."""
    assert read_config(incident.config) == IncidentPlan().after


def test_the_log_is_in_the_order_of_time(incident: Incident) -> None:
    """Every line begins with a UTC time, and none is older than the one before."""
    stamps = [line.split(maxsplit=1)[0] for line in _lines(incident)]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", stamp) for stamp in stamps)
    assert stamps == sorted(stamps)


def test_the_phases_are_told(tmp_path: Path) -> None:
    """The caller hears of each deploy and each load as it begins."""
    told: list[str] = []
    make_incident(tmp_path, plan=_QUICK, progress=told.append)
    assert [line.split()[0] for line in told] == ["deploy", "calm:", "deploy", "burst:"]


def test_two_incidents_at_once_do_not_mix(tmp_path: Path) -> None:
    """Two incidents made at the same time are each consistent, and leave no thread behind."""
    before = threading.active_count()
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    with ThreadPoolExecutor(2) as makers:
        made = list(makers.map(lambda folder: make_incident(folder, plan=_QUICK), folders))
    assert threading.active_count() == before
    for incident in made:
        text = incident.log.read_text()
        assert text.count("pool is exhausted") == incident.burst.exhausted > 0


def test_a_second_incident_in_a_folder_is_refused(tmp_path: Path) -> None:
    """A folder that holds a log already is left as it is."""
    (tmp_path / "service.log").write_text("kept\n")
    with pytest.raises(IncidentError, match=r"File exists: '.*service.log'"):
        make_incident(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["service.log"]
    assert (tmp_path / "service.log").read_text() == "kept\n"


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """A missing folder is named."""
    with pytest.raises(IncidentError, match=r"no incident was made in .*missing: .*No such file"):
        make_incident(tmp_path / "missing")


def test_a_read_only_folder_is_an_error(tmp_path: Path) -> None:
    """A folder that can't be written to is named, with the reason."""
    tmp_path.chmod(0o500)
    if os.access(tmp_path, os.W_OK):
        pytest.skip("this user may write anywhere")
    with pytest.raises(IncidentError, match="Permission denied"):
        make_incident(tmp_path)


def test_a_broken_ledger_is_an_error(tmp_path: Path) -> None:
    """A database that can't be opened is an error of the incident, and nothing is left running."""
    before = threading.active_count()
    (tmp_path / "payments.db").mkdir()
    with pytest.raises(IncidentError, match="unable to open database file"):
        make_incident(tmp_path)
    assert threading.active_count() == before


def test_an_incident_that_did_not_happen_is_an_error(tmp_path: Path) -> None:
    """A burst that the pool carries is no incident, and is never passed off as one."""
    with pytest.raises(IncidentError, match=r"the pool did not run out under load: .*paid=4"):
        make_incident(tmp_path, plan=_HARMLESS)


def test_a_calm_phase_that_fails_is_an_error(tmp_path: Path) -> None:
    """A pool that runs out before the deploy makes the deploy no cause."""
    starved = evolve(_QUICK, before=_QUICK.after, calm=_QUICK.burst)
    with pytest.raises(IncidentError, match="requests failed before the deploy"):
        make_incident(tmp_path, plan=starved)


def test_the_error_survives_pickling() -> None:
    """The error keeps its values and its text through pickle."""
    copy = pickle.loads(pickle.dumps(IncidentError(Path("f"), "why")))  # noqa: S301 - our own bytes
    assert (copy.folder, copy.reason) == (Path("f"), "why")
    assert str(copy) == "no incident was made in f: why"
