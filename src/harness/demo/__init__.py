"""A real incident in a few seconds: a payment service whose connection pool runs out."""

from harness.demo._incident import Incident, IncidentError, IncidentPlan, make_incident
from harness.demo._load import LoadCounts

__all__ = ["Incident", "IncidentError", "IncidentPlan", "LoadCounts", "make_incident"]
