"""A real incident in a few seconds, diagnosed to each ending that a run can have."""

from harness.demo._command import run_demo, run_every_ending
from harness.demo._endings import ENDINGS, Ending
from harness.demo._incident import Incident, IncidentError, IncidentPlan, make_incident
from harness.demo._load import LoadCounts

__all__ = [
    "ENDINGS",
    "Ending",
    "Incident",
    "IncidentError",
    "IncidentPlan",
    "LoadCounts",
    "make_incident",
    "run_demo",
    "run_every_ending",
]
