"""
What a host raises (classified), and what the library raises.

The tree::

    HarnessError
    +-- ProviderError                    raised by hosts: a classified technical failure
    |   +-- ProviderTimeoutError         TIMEOUT
    |   +-- TransportError               TRANSPORT
    |   +-- RateLimitedError             RATE_LIMITED, may carry ``retry_after``
    |   +-- InvalidOutputError           INVALID_OUTPUT
    |   |   +-- MalformedOutputError     a value record refused its contents (also a ValueError)
    |   +-- CapacityError                CAPACITY
    |   +-- RejectedError                REJECTED
    +-- ClientGoneError                  raised by an event sink: the client went away
    +-- InvalidArgumentError             a wrong argument (also a ValueError)
    +-- AwaitableResultError             a plain driver got an awaitable (also a TypeError)
    +-- IllegalCombinationError          two states that cannot stand together (also a ValueError)
    +-- IllegalTransitionError           a transition that no table has (also a ValueError)
    +-- StreamOrderError                 an event out of order, or after the end
    +-- RunExistsError                   ``begin`` with an id that exists
    +-- NotAPreviousTurnError            a record that cannot become a previous turn
    +-- StoreError                       a bundled store cannot be used
    |   +-- SchemaVersionError           written by a newer version
    |   +-- JournalConflictError         another process goes on with the run
    +-- DivergenceError                  today's code would have run a journal's run differently
    +-- RecordDecodeError                a stored record cannot be read
        +-- UnknownMemberError           it names a state that this version does not know
"""

from typing import Any

from harness._states import EventKind, FailureKind, RunState

__all__ = [
    "AwaitableResultError",
    "CapacityError",
    "ClientGoneError",
    "DivergenceError",
    "HarnessError",
    "IllegalCombinationError",
    "IllegalTransitionError",
    "InvalidArgumentError",
    "InvalidOutputError",
    "JournalConflictError",
    "MalformedOutputError",
    "NotAPreviousTurnError",
    "ProviderError",
    "ProviderTimeoutError",
    "RateLimitedError",
    "RecordDecodeError",
    "RejectedError",
    "RunExistsError",
    "SchemaVersionError",
    "StoreError",
    "StreamOrderError",
    "TransportError",
    "UnknownMemberError",
]

_SHOWN = 200
_TOLD = 3


def _show(value: object) -> str:
    """
    Show a value in an error text, bounded, whatever its ``repr`` does.
    """
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001  a broken repr must not hide the real error
        text = f"<{type(value).__name__} whose repr raised {type(error).__name__}>"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} characters)"


class HarnessError(Exception):
    """
    The root of every error of this library.
    """


class ProviderError(HarnessError):
    """
    A technical failure of a model, tool or provider, classified by whoever raises it (section 3.2).

    Raise it from a router, agent, tool, repairer or guard. The kind decides about a retry; the
    message goes to the private trace only and never becomes public.

    Args:
        message: For the trace.
        kind: The classification; subclasses fix it.
        usage: What the failed attempt used, if known.
        retry_after: Seconds that the provider asks to wait before the next attempt.

    Attributes:
        message: As given.
        kind: As given.
        usage: As given.
        retry_after: As given.
    """

    #: The kind where none is given.
    default_kind = FailureKind.UNCLASSIFIED

    def __init__(
        self,
        message: str = "",
        *,
        kind: FailureKind | None = None,
        usage: object = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.kind = self.default_kind if kind is None else kind
        self.usage = usage
        self.retry_after = retry_after

    def __str__(self) -> str:
        return f"{self.kind.name}: {self.message}" if self.message else self.kind.name

    def __reduce__(self) -> tuple[Any, ...]:
        state = {"kind": self.kind, "usage": self.usage, "retry_after": self.retry_after}
        return (type(self), (self.message,), state)


class ProviderTimeoutError(ProviderError):
    """
    The provider did not answer in its own time: ``TIMEOUT``. Never the run's deadline.
    """

    default_kind = FailureKind.TIMEOUT


class TransportError(ProviderError):
    """
    The provider could not be reached: ``TRANSPORT``.
    """

    default_kind = FailureKind.TRANSPORT


class RateLimitedError(ProviderError):
    """
    The provider asks to slow down: ``RATE_LIMITED``.
    """

    default_kind = FailureKind.RATE_LIMITED


class InvalidOutputError(ProviderError):
    """
    The provider answered something that is no answer: ``INVALID_OUTPUT``.
    """

    default_kind = FailureKind.INVALID_OUTPUT


class MalformedOutputError(InvalidOutputError, ValueError):
    """
    A draft, turn, route or call was built from contents that it cannot hold (sections 3.6, 3.7).

    Raised by the constructors of the value records. Inside a host object it classifies itself
    as ``INVALID_OUTPUT``, so a model's malformed answer ends as the contract says.

    Attributes:
        field: Which field of which record.
        value: The value that was refused.
        allowed: What is allowed there.
    """

    def __init__(self, field: str, value: object, allowed: str) -> None:
        super().__init__(f"{field} is {_show(value)}; allowed: {allowed}")
        self.field = field
        self.value = value
        self.allowed = allowed

    def __reduce__(self) -> tuple[Any, ...]:
        shown = _show(self.value)
        # any value can be refused, not every one can be pickled: its text goes, with the message
        state = {**super().__reduce__()[2], "message": self.message, "args": self.args}
        return (type(self), (self.field, shown, self.allowed), state)


class CapacityError(ProviderError):
    """
    The provider has no capacity: ``CAPACITY``.
    """

    default_kind = FailureKind.CAPACITY


class RejectedError(ProviderError):
    """
    The provider refused the request: ``REJECTED``. Not retried.
    """

    default_kind = FailureKind.REJECTED


class ClientGoneError(HarnessError):
    """
    Raised by an event sink when the client has gone away (section 3.10).
    """


class InvalidArgumentError(HarnessError, ValueError):
    """
    An argument is not allowed; nothing was changed.

    Attributes:
        argument: The argument's name.
        value: The value that was refused.
        allowed: What is allowed.
    """

    def __init__(self, argument: str, value: object, allowed: str) -> None:
        super().__init__(argument, value, allowed)
        self.argument = argument
        self.value = value
        self.allowed = allowed

    def __str__(self) -> str:
        return f"{self.argument} is {_show(self.value)}; allowed: {self.allowed}"


class AwaitableResultError(HarnessError, TypeError):
    """
    A host object of the synchronous ``Harness`` is asynchronous; use ``AsyncHarness`` for it.

    Attributes:
        what: The host object.
    """

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what

    def __str__(self) -> str:
        return f"{self.what} is asynchronous; Harness calls plain functions, use AsyncHarness"


class IllegalCombinationError(HarnessError, ValueError):
    """
    Two states that cannot stand together (section 2); the record was not built.

    Attributes:
        what: Which pair of states.
        found: The members found.
        allowed: The pairs that are allowed.
    """

    def __init__(self, what: str, found: tuple[object, ...], allowed: tuple[object, ...]) -> None:
        super().__init__(what, found, allowed)
        self.what = what
        self.found = found
        self.allowed = allowed

    def __str__(self) -> str:
        return f"{self.what}: {_names(self.found)} cannot occur; allowed: " + ", ".join(
            _names(pair if isinstance(pair, tuple) else (pair,)) for pair in self.allowed
        )


class IllegalTransitionError(HarnessError, ValueError):
    """
    A transition that the table does not have (section 2); the state is unchanged.

    Attributes:
        machine: Which state machine.
        state: The state it is in.
        target: The state or event that was refused.
        allowed: What is allowed from here.
    """

    def __init__(
        self, machine: str, state: object, target: object, allowed: tuple[object, ...]
    ) -> None:
        super().__init__(machine, state, target, allowed)
        self.machine = machine
        self.state = state
        self.target = target
        self.allowed = allowed

    def __str__(self) -> str:
        return (
            f"{self.machine}: {_name(self.state)} -> {_name(self.target)} cannot occur; "
            f"allowed: {_names(self.allowed)}"
        )


class StreamOrderError(HarnessError):
    """
    An event was refused because of the order of the stream (section 3.10); nothing was sent.

    Attributes:
        kind: The event that was refused.
        allowed: The kinds that are accepted now; empty after the end.
        why: What is wrong with the event itself, where its kind is accepted.
    """

    def __init__(self, kind: EventKind, allowed: tuple[EventKind, ...], why: str = "") -> None:
        super().__init__(kind, allowed, why)
        self.kind = kind
        self.allowed = allowed
        self.why = why

    def __str__(self) -> str:
        if self.why:
            return f"{self.kind.name} is refused here; {self.why}"
        return f"{self.kind.name} is refused here; allowed: {_names(self.allowed)}"


class RunExistsError(HarnessError):
    """
    A run of that id was begun before (section 3.10); it is unaffected.

    Attributes:
        run_id: The id.
        state: The stored run's state.
    """

    def __init__(self, run_id: str, state: RunState) -> None:
        super().__init__(run_id, state)
        self.run_id = run_id
        self.state = state

    def __str__(self) -> str:
        return f"run {self.run_id!r} exists already; it is {self.state.name}"


class NotAPreviousTurnError(HarnessError, ValueError):
    """
    Only a published report of a diagnosis becomes a previous turn (section 3.11).

    Attributes:
        run_id: The run whose record was refused.
        why: Which condition does not hold.
    """

    def __init__(self, run_id: str, why: str) -> None:
        super().__init__(run_id, why)
        self.run_id = run_id
        self.why = why

    def __str__(self) -> str:
        return f"run {self.run_id!r} cannot become a previous turn: {self.why}"


class StoreError(HarnessError):
    """
    A bundled store cannot be opened, read or written.

    Attributes:
        where: The file.
        why: What is wrong with it.
    """

    def __init__(self, where: str, why: str) -> None:
        super().__init__(where, why)
        self.where = where
        self.why = why

    def __str__(self) -> str:
        return f"{self.where}: {self.why}"


class SchemaVersionError(StoreError):
    """
    A database file or record was written by a newer version of this library; it is left as it is.
    """


class JournalConflictError(StoreError):
    """
    A journal has another number of lines than its writer thinks: another process took the run over.

    The run goes on there; here it makes no further call and publishes nothing.
    """


class DivergenceError(HarnessError):
    """
    A run cannot go on from its journal: the code of today would have run it differently.

    Attributes:
        run_id: The run; it is left as it was.
        divergences: Where, each with a text of its own.
    """

    def __init__(self, run_id: str, divergences: tuple[object, ...]) -> None:
        super().__init__(run_id, divergences)
        self.run_id = run_id
        self.divergences = divergences

    def __str__(self) -> str:
        told = " | ".join(str(one) for one in self.divergences[:_TOLD])
        return f"run {self.run_id!r} cannot go on from its journal: {told}"


class RecordDecodeError(HarnessError, ValueError):
    """
    A stored record cannot be read.

    Attributes:
        path: Where in the record, as ``field.field[index]``.
        value: What stands there.
        allowed: What is allowed there.
    """

    def __init__(self, path: str, value: object, allowed: str) -> None:
        super().__init__(path, value, allowed)
        self.path = path
        self.value = value
        self.allowed = allowed

    def __str__(self) -> str:
        return f"{self.path} is {_show(self.value)}; allowed: {self.allowed}"


class UnknownMemberError(RecordDecodeError):
    """
    A stored record names a state that this version does not know (section 3.11).
    """


def _name(value: object) -> str:
    return str(getattr(value, "name", value))


def _names(values: tuple[object, ...]) -> str:
    return " ".join(_name(value) for value in values) or "nothing"
