"""What users test their agents with: scripted host objects, virtual time, scenario files."""

from harness.testing._clock import VirtualClock
from harness.testing._scripted import RecordingClient, Script, counting_ids

__all__ = ["RecordingClient", "Script", "VirtualClock", "counting_ids"]
