"""
A fault plan: the n-th call of any host object fails, in a chosen way.

Wrap the host objects that a harness is built with, and run it: the plan keeps account of every call
that was made and lets the chosen ones fail. See :doc:`/how-to/test-your-agent`.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from functools import wraps
from types import MappingProxyType
from typing import Any, Final

from harness._cancel import CancelToken
from harness._states import FailureKind
from harness._tools import FunctionTool
from harness.errors import InvalidArgumentError, ProviderError, TransportError
from harness.testing._fault_calls import Call
from harness.testing._fault_words import PORTS, SECRET, Fault, Injection, UnknownError
from harness.testing._hostile import hostile, loosened
from harness.testing._wrapping import WrappedClock, WrappedHost

__all__ = ["PORTS", "SECRET", "Call", "Fault", "FaultPlan", "Injection", "UnknownError"]

#: Seconds by which a late answer is late: beyond any deadline of a test.
_LATE: Final = 1e7
#: Seconds of a clock step.
_STEP: Final = 3600.0
#: The bytes that an oversized value exceeds by one.
_SIZE: Final = 64 * 1024


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

#: What is called before an answer has arrived: it is measured and projected between them.
_ON_ARRIVAL: Final = frozenset({"clock.monotonic", "tool.project"})


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
            return WrappedClock(self, host)
        methods = PORTS[port]
        if port == "tool" and inspect.isroutine(host):
            host = FunctionTool(host)
        elif not any(callable(getattr(host, method, None)) for method in methods):
            return self.function(port, host, skip)
        return WrappedHost(self, port, host, skip)

    def function(
        self, site: str, function: Callable[..., Any], skip: Callable[[], None] | None
    ) -> Callable[..., Any]:
        """
        Wrap one function; its signature still says whether it takes the attempt.

        Args:
            site: Where its calls go.
            function: The function.
            skip: As for :meth:`wrap`.
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
