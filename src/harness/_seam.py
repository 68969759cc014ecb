"""
The only way out of the flow: what every driver implements, and what a call outside gives back.

1. A host exception is classified once, here, from its type and never from its text (3.2).
2. An exception that is no ``Exception`` is an interrupt: carried, never swallowed (3.1).
3. Instants are seconds since the run began; they never run backwards.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from decimal import Decimal
from math import inf
from typing import Any, ClassVar, Final, Protocol, TypeVar

from attrs import frozen

from harness._budget import MONEY, judge_usage
from harness._json import clean_text
from harness._lifecycle import Lifecycle
from harness._states import Component, FailureKind, UsageKind
from harness._values import ToolCall, Usage
from harness.errors import ProviderError

__all__ = [
    "Aborted",
    "Answer",
    "Attempt",
    "Batch",
    "Classifier",
    "Failed",
    "Failure",
    "Seam",
    "SeamBroken",
    "Site",
    "classify",
]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

#: Maps a client library's exception to a failure kind, or ``None`` to leave it.
Classifier = Callable[[BaseException], "FailureKind | None"]

#: The name of a place where the flow goes outside, such as ``TOOL`` or ``canonical_store.save``.
Site = str

_DETAIL: Final = 500
#: Seconds; a wait of so many years is never made.
_AGES: Final = 10**9


@frozen
class Failure:
    """
    A technical failure, classified.

    Attributes:
        kind: The classification.
        error: The exception's type name; for the trace.
        detail: Its text, bounded; for the private trace only.
        retry_after: Seconds that the provider asks to wait.
        usage: What the failed attempt used, where the error says so.
    """

    kind: FailureKind
    error: str
    detail: str = ""
    retry_after: float | None = None
    usage: object = None


class Answer:
    """
    What came of one call outside; this class itself is a value that the host returned.
    """

    __slots__ = ("ended", "value")

    #: Whether the call returned a value.
    is_ok: ClassVar[bool] = True
    failure: Failure | None = None
    interrupt: BaseException | None = None
    error: Exception | None = None

    def __init__(self, value: Any, ended: float) -> None:
        self.value = value
        #: The instant at which the call returned.
        self.ended = ended


class Failed(Answer):
    """
    A call outside that raised: a classified failure, or an interrupt.
    """

    __slots__ = ("error", "failure", "interrupt")

    is_ok: ClassVar[bool] = False

    def __init__(
        self,
        ended: float,
        failure: Failure | None = None,
        interrupt: BaseException | None = None,
        error: Exception | None = None,
    ) -> None:
        super().__init__(None, ended)
        self.failure = failure
        self.interrupt = interrupt
        #: What the host raised, behind the failure.
        self.error = error


class SeamBroken(BaseException):
    """
    The way out itself is gone (a durable engine's, say): the flow lets it pass, and ends nothing.
    """


class Aborted(BaseException):
    """
    The interrupt of a call that the end of its run cut short: nobody raised it.
    """


def classify(error: Exception, classifier: Classifier | None = None) -> Failure:
    """
    Classify a host exception (section 3.2).

    Args:
        error: What the host raised.
        classifier: The host's mapping of a client library's types.

    Returns:
        The failure; ``UNCLASSIFIED`` where nobody knows the type.
    """
    retry_after: float | None = None
    usage: object = None
    if isinstance(error, ProviderError):
        # a host's subclass may have forgotten to call the constructor of its base
        given: object = getattr(error, "kind", error.default_kind)
        kind = given if isinstance(given, FailureKind) else FailureKind.UNCLASSIFIED
        retry_after = _seconds(getattr(error, "retry_after", None))
        usage = getattr(error, "usage", None)
    else:
        kind = _mapped(error, classifier) or _builtin_kind(error)
    return Failure(kind, type(error).__name__, _text_of(error), retry_after, usage)


def _mapped(error: Exception, classifier: Classifier | None) -> FailureKind | None:
    if classifier is None:
        return None
    try:
        kind = classifier(error)
    except Exception:  # noqa: BLE001  a broken classifier knows nothing
        return None
    return kind if isinstance(kind, FailureKind) else None


def _builtin_kind(error: Exception) -> FailureKind:
    if isinstance(error, TimeoutError):
        return FailureKind.TIMEOUT
    if isinstance(error, ConnectionError):
        return FailureKind.TRANSPORT
    return FailureKind.UNCLASSIFIED


def _text_of(error: Exception) -> str:
    try:
        return clean_text(str(error)[:_DETAIL])
    except Exception:  # noqa: BLE001  a broken __str__ must not hide the failure
        return ""


def _seconds(value: object) -> float | None:
    """
    Accept a provider's wait; nonsense is no wait.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0:
        # no such number of seconds fits before any deadline
        return float(value) if value < _AGES else inf
    return None


class Attempt:
    """
    What a host object gets beside its argument (sections 3.2 and 3.3).

    It says who is asked and how long it may take, and takes the report of usage.

    Attributes:
        component: Who is asked.
        number: The n-th attempt of this component in this run, from 1.
    """

    __slots__ = ("_clock", "_life", "_reported", "component", "number")

    def __init__(
        self, component: Component, number: int, life: Lifecycle, clock: Callable[[], float]
    ) -> None:
        self.component = component
        self.number = number
        self._life = life
        self._clock = clock
        self._reported: object = None

    def report(self, usage: Usage) -> None:
        """
        Report what this attempt used; several reports of one attempt add up.

        Unusable usage is no error here: it makes an attempt that otherwise succeeded
        ``INVALID_OUTPUT`` and counts as unknown.

        Args:
            usage: Tokens and cost.
        """
        earlier = self._reported
        self._reported = usage if earlier is None else _add(earlier, usage)

    @property
    def reported(self) -> object:
        """
        What was reported, or ``None``.
        """
        return self._reported

    @property
    def is_cancelled(self) -> bool:
        """
        Whether the run has ended: what is returned now will be discarded.
        """
        return self._life.check(self._clock()) is not None

    def seconds_left(self) -> float | None:
        """
        Seconds until the run's deadline, never below 0; ``None`` without one.
        """
        deadline = self._life.deadline
        return None if deadline is None else max(0.0, deadline - self._clock())


def _add(earlier: object, later: object) -> object:
    """
    Add two reports; one that is unusable spoils the sum, one of nothing adds nothing.
    """
    tokens, cost = 0, Decimal(0)
    for usage in (earlier, later):
        kind, its_tokens, its_cost = judge_usage(usage)
        if kind is UsageKind.INVALID:
            return usage
        tokens += its_tokens
        cost = MONEY.add(cost, its_cost)
    return Usage(tokens, 0, cost)


class Batch(Protocol[T_co]):
    """
    The steps of one batch under way.
    """

    async def next(self) -> tuple[int, T_co] | None:
        """
        Give the next finished step as its place and result; ``None`` when none is left.
        """
        ...

    async def close(self) -> Sequence[int]:
        """
        Abort what is under way, where the driver can; give the places of results nobody took.
        """
        ...


class Seam(Protocol):
    """
    What the flow needs of its driver.
    """

    def now(self) -> float:
        """
        Seconds since the run began, never backwards.
        """
        ...

    def reading(self) -> float:
        """
        The same, as the flow's active check reads it: what a journal keeps.
        """
        ...

    def utc(self) -> datetime:
        """
        Wall-clock time in UTC, for records only.
        """
        ...

    def new_id(self) -> str:
        """
        A globally unique id.
        """
        ...

    async def call(self, site: Site, function: Callable[..., Any], /, *arguments: Any) -> Answer:
        """
        Call a host object.
        """
        ...

    def run_tool(self, run: Any, spec: Any, call: ToolCall, attempt: Attempt, /) -> Awaitable[Any]:
        """
        Make one tool call up to its outcome; by itself that is :func:`harness._toolstep.run_tool`.
        """
        ...

    async def wait(self, seconds: float, life: Lifecycle, /) -> None:
        """
        Wait; ends at once when the run ends.
        """
        ...

    def start(self, steps: Sequence[Callable[[], Awaitable[T]]], /) -> Batch[T]:
        """
        Start the steps of a batch; how many at once is the driver's business.
        """
        ...

    def end(self, record: Any, /) -> None:
        """
        Take note that the run is over, with the record that stands.
        """
        ...
