"""
The journal of a run: every answer that came through the seam, to be read back or gone on from.

See :mod:`harness.replay` for what a user calls.
"""

from harness._journal._answers import PastInterrupt
from harness._journal._course import Course
from harness._journal._divergence import Divergence
from harness._journal._header import Header, bare_setup, differences, read_header, under_rules_of
from harness._journal._imagined import BeyondJournal
from harness._journal._open import (
    Begin,
    Moment,
    begin_run,
    last_moment,
    replayed_run,
    resumed_run,
)
from harness._journal._tape import Entry, read_entries

__all__ = [
    "Begin",
    "BeyondJournal",
    "Course",
    "Divergence",
    "Entry",
    "Header",
    "Moment",
    "PastInterrupt",
    "bare_setup",
    "begin_run",
    "differences",
    "last_moment",
    "read_entries",
    "read_header",
    "replayed_run",
    "resumed_run",
    "under_rules_of",
]
