"""
A fault plan: the n-th call of any host object fails, in a chosen way.

Wrap the host objects that a harness is built with, and run it: the plan keeps account of every call
that was made and lets the chosen ones fail. See :doc:`/how-to/test-your-agent`.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime, timedelta
from enum import Enum, unique
from functools import wraps
from math import isfinite
from threading import Event
from types import MappingProxyType
from typing import Any, Final

from attrs import field, frozen

from harness._cancel import CancelToken
from harness._states import FailureKind
from harness._tools import FunctionTool
from harness.errors import InvalidArgumentError, ProviderError, TransportError
from harness.testing._hostile import hostile, loosened

__all__ = ["PORTS", "SECRET", "Call", "Fault", "FaultPlan", "Injection", "UnknownError"]

#: What the text of every injected exception holds; it must never become public.
SECRET: Final = "hunter2-of-the-injected-fault"  # noqa: S105  a marker

#: Seconds by which a late answer is late: beyond any deadline of a test.
_LATE: Final = 1e7
#: Seconds of a clock step.
_STEP: Final = 3600.0
#: The bytes that an oversized value exceeds by one.
_SIZE: Final = 64 * 1024


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
_RAISED: Final = MappingProxyType(
    {
        Fault.UNKNOWN: UnknownError,
        Fault.KEYBOARD_INTERRUPT: KeyboardInterrupt,
        Fault.SYSTEM_EXIT: SystemExit,
        Fault.GENERATOR_EXIT: GeneratorExit,
        Fault.MEMORY_ERROR: MemoryError,
        Fault.RECURSION_ERROR: RecursionError,
        Fault.STOP_ITERATION: StopIteration,
    }
)

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
_MODELS: Final = frozenset({"router", "responder", "agent", "repair", "semantic_guard"})

#: Every place where a call goes outside, as a plan calls it.
_SITES: Final = frozenset(
    port if method in {"", "execute"} or port in _MODELS else f"{port}.{method}"
    for port, methods in PORTS.items()
    for method in methods or ("",)
)


#: What is called before an answer has arrived: it is measured and projected between them.
_ON_ARRIVAL: Final = frozenset({"clock.monotonic", "tool.project"})


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


class Call:
    """
    One call that was made, or whose place a fault took.

    Attributes:
        number: The n-th call of the plan, from 1.
        site: Where it went.
        place: Site and its n-th call, as in an injection.
        arguments: What it was given.
        fault: The fault that was injected, or ``None``.
        began: The latest that the clock had ever said when it was made; ``None`` before that.
        cancelled: Whether the plan's token was cancelled by then.
        last: The number of the last call that was made before it ended: its own, or of one that was
            made while it was under way.
        returned: Whether it returned.
        value: What it returned.
        error: What it raised.
    """

    __slots__ = (
        "arguments",
        "began",
        "cancelled",
        "error",
        "fault",
        "last",
        "number",
        "place",
        "returned",
        "site",
        "value",
    )

    def __init__(  # noqa: PLR0913  what is known when it is made
        self,
        number: int,
        site: str,
        place: str,
        arguments: tuple[Any, ...],
        began: float | None,
        cancelled: bool,  # noqa: FBT001
    ) -> None:
        self.number = number
        self.site = site
        self.place = place
        self.arguments = arguments
        self.began = began
        self.cancelled = cancelled
        self.last = number
        self.fault: Fault | None = None
        self.returned = False
        self.value: Any = None
        self.error: BaseException | None = None

    def __repr__(self) -> str:
        fault = "" if self.fault is None else f"={self.fault.value}"
        return f"<call {self.number} {self.place}{fault}>"


class FaultPlan:
    """
    Lets chosen calls of wrapped host objects fail, and keeps account of all of them.

    A plan belongs to one run: build the harness from wrapped host objects, run it with
    ``cancel=plan.token``, then look at :attr:`calls`. Host objects may be asynchronous. Not for
    several threads.

    Args:
        injections: The faults, each as an :class:`Injection` or as it is written.
        size: The bytes that an oversized value exceeds; set the limits below it.

    Raises:
        InvalidArgumentError: There is no such site, number or fault, or a place is named twice.
    """

    def __init__(self, injections: Iterable[Injection | str] = (), *, size: int = _SIZE) -> None:
        self._size = size
        self.restart(injections)

    def restart(self, injections: Iterable[Injection | str] = ()) -> None:
        """
        Begin anew with other faults, for a further run of a harness built of what was wrapped.

        Args:
            injections: The faults.

        Raises:
            InvalidArgumentError: As when the plan is made.
        """
        self._faults: dict[str, Fault] = {}
        for given in injections:
            injection = Injection.parse(given) if isinstance(given, str) else given
            if injection.place in self._faults:
                raise InvalidArgumentError("injections", injection.place, "each place once")
            self._faults[injection.place] = injection.fault
        self._made: dict[str, int] = {}
        self._changes: list[Callable[[], None]] = []
        #: Seconds by which faults have moved the wrapped clock.
        self.offset = 0.0
        #: The latest that the wrapped clock ever said, in seconds; ``None`` before it was asked.
        self.told: float | None = None
        #: What a fault cancels the run by.
        self.token = CancelToken()
        #: Every call, in order.
        self.calls: list[Call] = []

    @property
    def unused(self) -> tuple[Injection, ...]:
        """
        The faults whose call never came.
        """
        made = {call.place for call in self.calls}
        return tuple(
            Injection(place, fault) for place, fault in self._faults.items() if place not in made
        )

    def wrap(self, port: str, host: Any, *, skip: Callable[[], None] | None = None) -> Any:
        """
        Wrap a host object, or a plain function of a port.

        Args:
            port: Its port: one of :data:`PORTS`.
            host: The object; ``None`` stays ``None``.
            skip: Called where a fault takes the place of a call, so that a script drops its step.

        Returns:
            What takes its place in a harness.

        Raises:
            InvalidArgumentError: There is no such port.
        """
        if port not in PORTS:
            raise InvalidArgumentError("port", port, ", ".join(PORTS))
        if host is None:
            return None
        if port == "clock":
            return _Clock(self, host)
        methods = PORTS[port]
        if port == "tool" and inspect.isroutine(host):
            host = FunctionTool(host)
        elif not any(callable(getattr(host, method, None)) for method in methods):
            return self._function(port, host, skip)
        return _Wrapped(self, port, host, skip)

    def _function(
        self, site: str, function: Callable[..., Any], skip: Callable[[], None] | None
    ) -> Callable[..., Any]:
        """
        Wrap one function; its signature still says whether it takes the attempt.
        """

        @wraps(function)
        def wrapped(*arguments: Any) -> Any:
            return self.call(site, function, *arguments, skip=skip)

        return wrapped

    def call(
        self,
        site: str,
        function: Callable[..., Any],
        *arguments: Any,
        skip: Callable[[], None] | None = None,
    ) -> Any:
        """
        Make a call outside, or let it fail.

        Args:
            site: Where it goes.
            function: The host's function.
            arguments: What it gets.
            skip: As for :meth:`wrap`.

        Returns:
            What the host returns, or the fault makes of it.
        """
        while self._changes and site not in _ON_ARRIVAL:
            self._changes.pop()()
        number = self._made.get(site, 0) + 1
        self._made[site] = number
        place = f"{site}:{number}"
        calls = self.calls
        entry = Call(len(calls) + 1, site, place, arguments, self.told, self.token.is_cancelled)
        calls.append(entry)
        if place in self._faults:
            entry.fault = fault = self._faults[place]
            if skip is not None and fault.replaces:
                skip()
            function = self._faulty(fault, site, function)
        try:
            value = function(*arguments)
        except BaseException as error:
            entry.error = error
            entry.last = len(calls)
            raise
        if hasattr(type(value), "__await__"):
            return self._awaited(entry, value)
        entry.last = len(calls)
        entry.returned = True
        entry.value = value
        return value

    async def _awaited(self, entry: Call, value: Awaitable[Any]) -> Any:
        """
        Take note of what a call came to once it was awaited.
        """
        try:
            result = await value
        except BaseException as error:
            entry.error = error
            entry.last = len(self.calls)
            raise
        entry.last = len(self.calls)
        entry.returned = True
        entry.value = result
        return result

    def _faulty(self, fault: Fault, site: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """
        Make the function that fails.
        """
        family, _, what = fault.value.partition(":")
        if family == "fail":
            return _raising(ProviderError(SECRET, kind=FailureKind[what]))
        if family == "raise":
            return _raising(_RAISED[fault](SECRET))
        if family == "return":
            return lambda *arguments: hostile(
                what, site, self._size, arguments, lambda: function(*arguments)
            )
        return self._disturbed(fault, function)

    def _disturbed(self, fault: Fault, function: Callable[..., Any]) -> Callable[..., Any]:
        """
        Make the function that answers, in the wrong way or at the wrong time.
        """
        if fault is Fault.ANSWER_LOST:
            return _then(function, _lose)
        if fault is Fault.CHANGED_LATER:
            return _then(function, self._hand_over)

        def disturbed(*arguments: Any) -> Any:
            if fault is Fault.CANCEL:
                self.token.cancel("the fault plan")
            else:
                self.offset += _MOVES[fault]
            return function(*arguments)

        return disturbed

    def _hand_over(self, value: Any) -> Any:
        handed_over, change = loosened(value)
        self._changes.append(change)
        return handed_over


_MOVES: Final = MappingProxyType(
    {Fault.LATE: _LATE, Fault.CLOCK_FORWARD: _STEP, Fault.CLOCK_BACKWARD: -_STEP}
)


def _raising(error: BaseException) -> Callable[..., Any]:
    def fail(*_arguments: Any) -> Any:
        raise error

    return fail


def _lose(_value: Any) -> Any:
    raise TransportError(SECRET)


def _then(function: Callable[..., Any], then: Callable[[Any], Any]) -> Callable[..., Any]:
    """
    Let something be done with an answer once it is there.
    """

    async def later(value: Awaitable[Any]) -> Any:
        return then(await value)

    def call(*arguments: Any) -> Any:
        value = function(*arguments)
        return later(value) if hasattr(type(value), "__await__") else then(value)

    return call


class _Wrapped:
    """
    A host object whose port methods go through a plan; everything else is the object's own.
    """

    def __init__(
        self, plan: FaultPlan, port: str, host: Any, skip: Callable[[], None] | None
    ) -> None:
        self._plan = plan
        self._port = port
        self._host = host
        self._skip = skip

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._host, name)
        if name not in PORTS[self._port] or not callable(value):
            return value
        alone = name == "execute" or self._port in _MODELS
        site = self._port if alone else f"{self._port}.{name}"
        wrapped = self._plan._function(site, value, self._skip)  # noqa: SLF001  its other half
        # looked up once a harness, called at each step
        setattr(self, name, wrapped)
        return wrapped


class _Clock:
    """
    A clock that faults move.
    """

    def __init__(self, plan: FaultPlan, clock: Any) -> None:
        self._plan = plan
        #: The clock that is moved.
        self.host = clock

    def monotonic(self) -> Any:
        """
        What the clock says, and by how much it was moved.
        """
        plan = self._plan
        value = plan.call("clock.monotonic", self._monotonic)
        if isinstance(value, float) and isfinite(value):
            # a run's time never runs backwards, whatever its clock says
            plan.told = value if plan.told is None else max(value, plan.told)
        return value

    def _monotonic(self) -> float:
        seconds: float = self.host.monotonic() + self._plan.offset
        return seconds

    def utc(self) -> Any:
        """
        What the wall clock says, likewise.
        """
        return self._plan.call("clock.utc", self._utc)

    def _utc(self) -> datetime:
        time: datetime = self.host.utc() + timedelta(seconds=self._plan.offset)
        return time

    def wait(self, seconds: float, wake: Event) -> Any:
        """
        Wait as the clock does.
        """
        return self._plan.call("clock.wait", self.host.wait, seconds, wake)
