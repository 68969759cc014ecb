"""Levels in the spellings that programs use, and how much a line matters."""

import pytest

from harness.logs import Level, level_of
from harness.logs._levels import LEVEL_NAMES, to_level
from harness.logs._severity import severity_of
from harness.logs._stamps import StampReader

_LEVELS = [
    ("2015-10-18 18:01:47,978 INFO [main] x", Level.INFO),
    ("2015-07-29 17:41:44,747 - WARN  [QuorumPeer] x", Level.WARN),
    ("[Sun Dec 04 04:47:44 2005] [error] x", Level.ERROR),
    ("[Wed Oct 11 14:32:52 2000] [core:crit] x", Level.FATAL),
    ("[Wed Oct 11 14:32:52 2000] [pid 7] [mpm:notice] x", Level.NOTICE),
    ("2016-09-28 04:30:30, Info                  CBS x", Level.INFO),
    ("2015/10/18 18:01:47 [warn] 7#0: x", Level.WARN),
    ("2015-10-18 18:01:47 I tag: x", Level.INFO),
    ("2015-10-18 18:01:47 E/tag: x", Level.ERROR),
    ("03-17 16:13:38.811  1702  2395 W Window: x", Level.WARN),
    ("F0614 15:16:01.123456    1 server.go:12] x", Level.FATAL),
    ("Dec 10 07:51:15 LabSZ sshd[24324]: error: x", Level.ERROR),
    ("ERROR:root:x", Level.ERROR),
    ("error: x", Level.ERROR),
    ("Warning: x", Level.WARN),
    ("nova.log 2017-05-16 00:00:00.008 25746 WARNING nova.x", Level.WARN),
    ('{"ts":1445191307,"level":"error","msg":"x"}', Level.ERROR),
    ('{"time":"2015-10-18T18:01:47Z","level":30}', Level.INFO),
    ('{"time":"2015-10-18T18:01:47Z","level":60}', Level.FATAL),
    ('{"time":"2015-10-18T18:01:47Z","level":99}', None),
    ("ts=1445191307 lvl=eror msg=x", Level.ERROR),
    ("severity: debug", Level.DEBUG),
    ("level=loud", None),
    ("x TRACE y", Level.TRACE),
    ("[SEVERE] x", Level.ERROR),
    ("MY_ERROR is no level, FATAL is", Level.FATAL),
    ("SOME_INFO and NOERROR", None),
    ("Jun 14 15:16:01 combo sshd[1]: authentication failure", None),
    ("2015-10-18 18:01:47 Efficient", None),
    ("", None),
]


@pytest.mark.parametrize(("line", "level"), _LEVELS)
def test_the_level_of_a_line(line: str, level: Level | None) -> None:
    """A level is found in its usual places and spellings; nothing else is taken for one."""
    stamp = StampReader().read(line)
    assert level_of(line, stamp.end if stamp else 0) is level


def test_a_level_far_into_a_line_is_part_of_its_message() -> None:
    """Only the beginning of a line is looked at."""
    assert level_of("x" * 300 + " ERROR") is None


@pytest.mark.parametrize("name", [*LEVEL_NAMES, "Warning", " err ", "CRIT", "inf"])
def test_names_in_any_spelling(name: str) -> None:
    """A caller may name a level in any spelling and case."""
    assert to_level(name) is not None


def test_a_name_of_no_level() -> None:
    """A word that is no level names none."""
    assert to_level("loud") is None


@pytest.mark.parametrize(
    ("level", "text", "severity"),
    [
        (Level.FATAL, "x", 6),
        (Level.ERROR, "x", 5),
        (None, "Kernel panic - not syncing", 5),
        (Level.WARN, "x", 4),
        (None, "Failed password for root", 4),
        (Level.INFO, "out of memory", 4),
        (Level.INFO, "connection refused", 3),
        (None, "session opened", 2),
        (Level.NOTICE, "session opened", 2),
        (Level.DEBUG, "it failed", 1),
    ],
)
def test_how_much_a_line_matters(level: Level | None, text: str, severity: int) -> None:
    """The level decides; where it says nothing the words do, less where a level is stated."""
    assert severity_of(level, text) == severity


def test_a_word_in_brackets_that_is_no_level_hides_none() -> None:
    """The thread's name stands in front of the level, in brackets as well."""
    assert level_of("12:00 [worker] [error] pool exhausted") is Level.ERROR
