"""How faults are written: the ways a call can fail, the ports, and one fault at one call."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, unique
from types import MappingProxyType
from typing import Final

from attrs import field, frozen

from harness.errors import InvalidArgumentError

__all__ = ["MODELS", "PORTS", "SECRET", "Fault", "Injection", "UnknownError"]

#: What the text of every injected exception holds; it must never become public.
SECRET: Final = "hunter2-of-the-injected-fault"  # noqa: S105  a marker


class UnknownError(Exception):
    """
    An exception that nobody classifies.
    """


@unique
class Fault(Enum):
    """
    A way in which a call fails. All but the last group take the place of the call.
    """

    #: Raises the library's error of this kind.
    TIMEOUT = "fail:TIMEOUT"
    #: The same.
    TRANSPORT = "fail:TRANSPORT"
    #: The same.
    RATE_LIMITED = "fail:RATE_LIMITED"
    #: The same.
    INVALID_OUTPUT = "fail:INVALID_OUTPUT"
    #: The same.
    CAPACITY = "fail:CAPACITY"
    #: The same.
    REJECTED = "fail:REJECTED"
    #: The same.
    UNCLASSIFIED = "fail:UNCLASSIFIED"
    #: Raises an exception that nobody classifies.
    UNKNOWN = "raise:UnknownError"
    #: Raises an interrupt, which goes on to the caller.
    KEYBOARD_INTERRUPT = "raise:KeyboardInterrupt"
    #: The same.
    SYSTEM_EXIT = "raise:SystemExit"
    #: The same.
    GENERATOR_EXIT = "raise:GeneratorExit"
    #: Raises an exception like any other.
    MEMORY_ERROR = "raise:MemoryError"
    #: The same.
    RECURSION_ERROR = "raise:RecursionError"
    #: The same.
    STOP_ITERATION = "raise:StopIteration"
    #: Returns something that is no answer at all.
    WRONG_TYPE = "return:wrong-type"
    #: Returns a value beyond the limits, in the shape of an answer where that can hold it.
    OVERSIZED = "return:oversized"
    #: Returns NaN likewise.
    NAN = "return:nan"
    #: Returns a value that holds itself.
    CYCLIC = "return:cyclic"
    #: Returns a value that nests deeper than any encoder goes.
    DEEP = "return:deep"
    #: Returns text that UTF-8 cannot encode.
    SURROGATE = "return:surrogate"
    #: Answers as it would, long after the deadline.
    LATE = "late"
    #: The caller cancels while the call is under way; then it answers as it would.
    CANCEL = "cancel"
    #: Both clocks step an hour forward, as after a suspended machine; then it answers.
    CLOCK_FORWARD = "clock:forward"
    #: Both clocks step an hour back; then it answers.
    CLOCK_BACKWARD = "clock:backward"
    #: Answers with an object that is changed once it has arrived, before the next call is made.
    CHANGED_LATER = "changed-later"
    #: Does its work, and then fails as if the connection broke before the answer came.
    ANSWER_LOST = "answer-lost"

    @property
    def replaces(self) -> bool:
        """
        Whether it takes the place of the call, which is then not made.
        """
        return self not in _CALL_IS_MADE

    @property
    def is_interrupt(self) -> bool:
        """
        Whether it raises what goes on to the caller of the run (section 3.1).
        """
        return self in _INTERRUPTS


_CALL_IS_MADE: Final = frozenset(
    {
        Fault.LATE,
        Fault.CANCEL,
        Fault.CLOCK_FORWARD,
        Fault.CLOCK_BACKWARD,
        Fault.CHANGED_LATER,
        Fault.ANSWER_LOST,
    }
)
_INTERRUPTS: Final = frozenset({Fault.KEYBOARD_INTERRUPT, Fault.SYSTEM_EXIT, Fault.GENERATOR_EXIT})
#: The methods of each port that a plan wraps; a port of one function is called by its own name.
PORTS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "router": ("route",),
        "responder": ("reply",),
        "agent": ("next_turn",),
        "repair": ("repair",),
        "semantic_guard": ("judge",),
        "tool": ("execute", "project"),
        "canonical_store": ("save", "load"),
        "run_store": ("begin", "finish", "mark_delivered", "load"),
        "client": ("send",),
        "clock": ("monotonic", "utc", "wait"),
        "ids": (),
        "classifier": (),
        "backoff": (),
        "journal": ("append", "read", "last_lines"),
    }
)
#: The ports that are models.
MODELS: Final = frozenset({"router", "responder", "agent", "repair", "semantic_guard"})

#: Every place where a call goes outside, as a plan calls it.
_SITES: Final = frozenset(
    port if method in {"", "execute"} or port in MODELS else f"{port}.{method}"
    for port, methods in PORTS.items()
    for method in methods or ("",)
)


def _place(value: object) -> str:
    """
    Accept ``site:n``.
    """
    allowed = f"site:n, n from 1, with a site of {', '.join(sorted(_SITES))}"
    if not isinstance(value, str):
        raise InvalidArgumentError("place", value, allowed)
    site, _, number = value.rpartition(":")
    if site not in _SITES or not number.isascii() or not number.isdigit() or int(number) < 1:
        raise InvalidArgumentError("place", value, allowed)
    return f"{site}:{int(number)}"


def _fault(value: object) -> Fault:
    if isinstance(value, Fault):
        return value
    for fault in Fault:
        if fault.value == value:
            return fault
    allowed = f"one of {', '.join(fault.value for fault in Fault)}"
    raise InvalidArgumentError("fault", value, allowed)


@frozen
class Injection:
    """
    One fault at one call, written ``site:n=fault``, such as ``tool:2=fail:TIMEOUT``.

    Attributes:
        place: Which call: a site (a port of one function by its name, such as ``agent``; else
            port and method, such as ``run_store.finish``; a tool's ``execute`` is ``tool``) and the
            n-th call of it, from 1.
        fault: How it fails; a member, or its value.

    Raises:
        InvalidArgumentError: There is no such site, number or fault.
    """

    place: str = field(converter=_place)
    fault: Fault = field(converter=_fault)

    @classmethod
    def parse(cls, text: str) -> Injection:
        """
        Read an injection as it is written.

        Raises:
            InvalidArgumentError: It is written otherwise.
        """
        place, _, fault = text.partition("=")
        return cls(place, fault)

    def __str__(self) -> str:
        return f"{self.place}={self.fault.value}"
