"""
A run's course through its journal: read where it was written before, written from there on.

1. Every step of the flow that depends on something outside takes the next entry, or notes one.
2. A step of a batch has a lane of its own, so that steps that ran at the same time are read back
   in the order in which they went on.
3. Where today's flow asks for something else than the next entry, that is a divergence.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from datetime import datetime
from types import MappingProxyType, NoneType, coroutine
from typing import Any, Final, Protocol, TypeVar

from harness._journal._answers import interrupt_named, raised_from, raised_to
from harness._journal._codec import from_data, to_data
from harness._journal._divergence import Divergence
from harness._journal._life import JournaledLifecycle
from harness._journal._recorder import Recorder
from harness._journal._tape import Entry, Tape
from harness._lifecycle import Stop
from harness._run import Run
from harness._states import Dimension, StopCause, TraceCode
from harness.errors import DivergenceError, JournalConflictError, RecordDecodeError

__all__ = ["Course", "Lanes", "asked"]

T = TypeVar("T")


class Lanes(Protocol):
    """
    The steps of a batch that is being read back.
    """

    def advance(self, lane: int) -> bool:
        """
        Let a step go on to where it waits for another's entry; ``False`` where it cannot.
        """
        ...


class Course:
    """
    A run's course through its journal.

    Args:
        tape: What was written before.
        recorder: Writes from there on.
        tolerant: Whether a divergence is only taken down, and does not refuse the run.

    Attributes:
        run: The run, once it is made.
        life: Its lifecycle.
        lane: The step of a batch that goes on now; 0 for the run itself.
        step: How many outward calls were begun.
        lanes: The batch that is being read back, or ``None``.
        divergences: Where today's flow went another way.
    """

    run: Run
    life: JournaledLifecycle

    def __init__(self, tape: Tape, recorder: Recorder, *, tolerant: bool = False) -> None:
        self._tape: Final = tape
        self._recorder: Final = recorder
        self._tolerant: Final = tolerant
        self._refusal: Exception | None = None
        self.lane = 0
        self.step = 0
        self.lanes: Lanes | None = None
        self.divergences: list[Divergence] = []

    @property
    def is_live(self) -> bool:
        """
        Whether nothing is left that was written before.
        """
        return self._head() is None

    def _head(self) -> Entry | None:
        """
        Give the next entry that a step takes; a signal is applied, a mark is passed over.
        """
        while (head := self._tape.head) is not None:
            if head.kind == "signal":
                signal = self.decode(_signal_of, head)
                self._tape.pop()
                self.life.apply(signal)
            elif head.kind == "resume":
                self._tape.pop()
            else:
                break
        return head

    # --- reading

    async def turn(self) -> int:
        """
        Wait until the next entry belongs to the lane that asks, or none is left.

        Returns:
            The lane.
        """
        lane = self.lane
        while (head := self._head()) is not None and head.lane != lane:
            if lane:
                await _passed_on()
            elif self.lanes is None or not self.lanes.advance(head.lane):
                self.diverge(head, {"reads": "batch"})
            self.lane = lane
        return lane

    def take(self, kind: str, actual: Mapping[str, Any]) -> Entry | None:
        """
        Take the next entry; ``None`` where nothing is left of what was written before.

        Args:
            kind: What it must be.
            actual: What the flow asks, for a divergence.

        Raises:
            DivergenceError: It is something else, and the run is not tolerant.
        """
        self.guard()
        head = self._head()
        if head is None:
            return None
        if head.kind == kind and head.lane == self.lane:
            self._tape.pop()
            return head
        if head.kind == "stop" and head.data.get("cause") == StopCause.INTERRUPTED.name:
            # an interrupt came between two steps; it is raised where the next one begins
            raise interrupt_named(KeyboardInterrupt.__name__)
        self.diverge(head, actual)
        return None

    def diverge(self, head: Entry, actual: Mapping[str, Any]) -> None:
        """
        Take down that today's flow leaves its journal here.

        Args:
            head: What the journal has.
            actual: What the flow asks or decides.

        Raises:
            DivergenceError: The run is not tolerant.
        """
        self._tape.abandon()
        expected = _shown(head)
        if head.lane != self.lane:
            # the same question, of another step of a batch
            expected, actual = {**expected, "lane": head.lane}, {**actual, "lane": self.lane}
        self.differ(expected, actual, over=1)

    def differ(self, expected: Mapping[str, Any], actual: Mapping[str, Any], over: int = 0) -> None:
        """
        Take down a difference.

        Args:
            expected: What the journal has.
            actual: What the flow asks or decides.
            over: Added to the number of the step.

        Raises:
            DivergenceError: The run is not tolerant.
        """
        site = expected.get("site") or actual.get("site") or next(iter(expected))
        self.divergences.append(Divergence(self.step + over, str(site), expected, actual))
        if not self._tolerant:
            self.refuse(DivergenceError(self._recorder.run_id, tuple(self.divergences)))
            self.guard()

    def guard(self) -> None:
        """
        Let nothing go on once the run was refused.

        Raises:
            Exception: What refused it.
        """
        if self._refusal is not None:
            raise self._refusal

    def refuse(self, why: Exception) -> None:
        """
        Refuse the run: nothing of it goes on here.

        Args:
            why: What is raised from now on.
        """
        self._refusal = self._refusal or why

    def decode(self, function: Callable[..., T], *arguments: Any) -> T:
        """
        Decode a part of the journal; where it cannot be, nothing goes on.

        Args:
            function: Decodes it.
            arguments: What it gets.

        Raises:
            RecordDecodeError: It is something else.
        """
        try:
            return function(*arguments)
        except RecordDecodeError as error:
            self.refuse(error)
            raise

    def read(self, kind: str, live: Callable[[], Any]) -> Any:
        """
        Read something that costs no call, from the journal or anew.

        Args:
            kind: The kind of its entry.
            live: Reads it anew.

        Returns:
            The value.

        Raises:
            BaseException: What reading it raised, now or then.
        """
        entry = self.take(kind, {"reads": kind})
        if entry is not None:
            raised = raised_from(entry.data)
            if raised is not None:
                raise raised
            return self.decode(_value_of, entry, kind)
        self.life.settle()
        try:
            value = live()
        except BaseException as error:
            self.note(kind, raised_to(error))
            raise
        self.note(kind, {"is": to_data(value)})
        return value

    # --- writing

    def note(self, kind: str, data: Mapping[str, Any]) -> None:
        """
        Note an entry of the lane that goes on.

        Args:
            kind: Its kind.
            data: What it says.
        """
        self._recorder.note(kind, self.lane, data)

    def save(self) -> bool:
        """
        Store what was noted; a journal that cannot store it ends the run.

        Returns:
            Whether it is stored, or there is nothing to store.

        Raises:
            JournalConflictError: Somebody else goes on with the run.
        """
        try:
            fault = self._recorder.flush()
        except JournalConflictError as conflict:
            self.refuse(conflict)
            raise
        if fault is None:
            return True
        detail = raised_to(fault)
        self.run.note(TraceCode.INTERNAL_FAULT, error=type(fault).__name__, detail=detail["text"])
        self.life.stop(StopCause.INTERNAL_ERROR, self.run.at)
        return False

    @property
    def is_begun(self) -> bool:
        """
        Whether anything of the run was stored.
        """
        return self._recorder.number > 0

    # --- what the lifecycle tells

    def stopping(self, cause: StopCause) -> None:
        """
        Take note that the flow claims the run's end.

        Args:
            cause: Why.
        """
        entry = self.take("stop", {"stop": cause.name})
        if entry is None:
            self.life.settle()
            self.note("stop", {"cause": cause.name})
        elif entry.data.get("cause") != cause.name:
            self.diverge(entry, {"stop": cause.name})

    def note_signal(self, signal: Stop) -> None:
        """
        Note a signal from outside that the flow sees from here on.

        Args:
            signal: The signal.
        """
        parts = (signal.cause, signal.at, signal.reason)
        self.note(
            "signal", {name: to_data(part) for name, part in zip(_SIGNAL, parts, strict=True)}
        )


#: What is read of the driver or of a budget; what a host's function gave may be anything.
_READ: Final[Mapping[str, tuple[type[Any], ...]]] = MappingProxyType(
    {"now": (int, float), "utc": (datetime,), "budget": (Dimension, int, NoneType)}
)


def _value_of(entry: Entry, kind: str) -> Any:
    value = from_data(entry.data.get("is"), f"{entry.path}.is")
    if not isinstance(value, _READ.get(kind, (object,))):
        allowed = " or ".join(one.__name__ for one in _READ[kind])
        raise RecordDecodeError(f"{entry.path}.is", value, allowed)
    return value


_SIGNAL: Final = ("cause", "at", "reason")


def _signal_of(entry: Entry) -> Stop:
    """
    Read a signal from outside.

    Raises:
        RecordDecodeError: It is something else.
    """
    cause, at, reason = from_data([entry.data.get(name) for name in _SIGNAL], entry.path)
    if not isinstance(cause, StopCause):
        raise RecordDecodeError(f"{entry.path}.cause", cause, "a StopCause")
    if type(at) not in (int, float):
        raise RecordDecodeError(f"{entry.path}.at", at, "seconds")
    if reason is not None and not isinstance(reason, str):
        raise RecordDecodeError(f"{entry.path}.reason", reason, "text, or null")
    return Stop(cause, at, reason)


def asked(entry: Entry) -> dict[str, Any]:
    """
    Say where a call goes, and what it asks.

    Args:
        entry: Its beginning.

    Raises:
        RecordDecodeError: It does not say.
    """
    ask = entry.data.get("ask")
    if not isinstance(ask, dict):
        raise RecordDecodeError(f"{entry.path}.ask", ask, "names to values")
    return {"site": entry.text("site"), **ask}


def _shown(entry: Entry) -> dict[str, Any]:
    """
    Say what an entry is, for a divergence.
    """
    if entry.kind == "start":
        ask = entry.data.get("ask")
        return {"site": entry.data.get("site"), **(ask if isinstance(ask, dict) else {})}
    if entry.kind == "stop":
        return {"stop": entry.data.get("cause")}
    return {"reads": entry.kind}


@coroutine
def _passed_on() -> Generator[None, None, None]:
    """
    Give way to the other steps of a batch.
    """
    yield
