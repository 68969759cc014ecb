"""A run that stops at every call of a component, so that a test decides what comes of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from types import coroutine
from typing import Any, Final

from attrs import define, evolve, field, frozen

from harness import (
    Budget,
    CancelToken,
    Component,
    Harness,
    Limits,
    OnDisconnect,
    Parameter,
    ProgressMode,
    ReleasePolicy,
    Request,
    RunRecord,
    StreamEvent,
)
from harness._flow import run_flow
from harness._run import Run
from harness._seam import Answer
from harness._sync import SyncSeam, listening
from harness.errors import ClientGoneError
from harness.stores.memory import MemoryCanonicalStore, MemoryRunStore
from harness.testing import VirtualClock, counting_ids

__all__ = ["ABSENT", "Config", "Replay", "Step", "Stepped"]

COMPONENTS: Final = frozenset(component.name for component in Component)
#: Where a step gives no answer of its own, so that the host object does what it does.
ABSENT: Final = object()


#: What happens during a call: ``("time", ms)``, ``("cancel", reason)`` or ``("wall", seconds)``.
Happenings = tuple[tuple[str, Any], ...]


@frozen
class Step:
    """
    What one call outside does.

    Attributes:
        answer: What it returns; ``ABSENT`` leaves it to the host object.
        error: What it raises instead.
        usage: What it reports through its attempt.
        before: What happens during it, before it returns.
    """

    answer: Any = ABSENT
    error: BaseException | None = None
    usage: Any = None
    before: Happenings = ()


@frozen
class Config:
    """How the harness of a run is built."""

    router: bool = False
    responder: bool = False
    repairer: bool = False
    backoff: float = 0.0
    limits: Limits = field(factory=Limits.none)
    parent: int | None = None
    progress: ProgressMode = ProgressMode.REPORTED
    on_disconnect: OnDisconnect = OnDisconnect.CANCEL
    distinguish: bool = False
    required: tuple[str, ...] = ()
    client: bool = True


@define
class World:
    """Everything outside of one run: its clock, its caller, and which step comes next."""

    #: Gives the step of a call, and what of it is still to happen.
    next_step: Callable[[str], tuple[Step, Happenings]]
    clock: VirtualClock = field(factory=VirtualClock)
    token: CancelToken = field(factory=CancelToken)
    #: Every call outside, in order: its site and what it did.
    log: list[tuple[str, Step]] = field(factory=list)
    #: The events that the client accepted.
    events: list[StreamEvent] = field(factory=list)
    #: What agents and repairers were shown.
    shown: list[Any] = field(factory=list)

    def happen(self, kind: str, value: Any) -> None:
        """Let time pass, cancel, or step the wall clock."""
        if kind == "time":
            self.clock.advance(value)
        elif kind == "cancel":
            self.token.cancel(value)
        else:
            self.clock.step_wall_clock(value)

    def call(self, site: str, default: Callable[[], Any], attempt: Any = None) -> Any:
        """Make a call outside: what its step says, or what the host object does."""
        step, happenings = self.next_step(site)
        self.log.append((site, step))
        for kind, value in happenings:
            self.happen(kind, value)
        if attempt is not None and step.usage is not None:
            attempt.report(step.usage)
        if step.error is not None:
            raise step.error
        return default() if step.answer is ABSENT else step.answer

    def component(self, site: str) -> Callable[[Any, Any], Any]:
        """A component that does what its steps say."""

        def ask(argument: Any, attempt: Any) -> Any:
            if hasattr(argument, "records"):
                self.shown.append(tuple(argument.records))
            return self.call(site, lambda: None, attempt)

        return ask


class Tool:
    """A tool that does what its steps say, and may project by itself."""

    description = "scripted"

    def __init__(self, world: World, name: str, parameters: Any = None) -> None:
        self.name = name
        self.parameters = parameters
        self._world = world

    def execute(self, _call: object, attempt: Any) -> Any:
        return self._world.call("TOOL", lambda: None, attempt)


class ProjectingTool(Tool):
    """A tool that projects its results itself."""

    def project(self, raw: Any) -> Any:
        return self._world.call("PROJECT", lambda: raw)


class CanonicalStore(MemoryCanonicalStore):
    """A canonical store in the world."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def save(self, record: Any) -> Any:
        return self._world.call(
            "canonical_store.save", lambda: super(CanonicalStore, self).save(record)
        )

    def load(self, invocation_id: str) -> Any:
        site = "canonical_store.load"
        return self._world.call(site, lambda: super(CanonicalStore, self).load(invocation_id))


class RunStore(MemoryRunStore):
    """A run store in the world."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def begin(self, record: RunRecord) -> Any:
        return self._world.call("run_store.begin", lambda: super(RunStore, self).begin(record))

    def finish(self, record: RunRecord) -> Any:
        return self._world.call("run_store.finish", lambda: super(RunStore, self).finish(record))

    def mark_delivered(self, run_id: str) -> Any:
        site = "run_store.mark_delivered"
        return self._world.call(site, lambda: super(RunStore, self).mark_delivered(run_id))


class Client:
    """A client in the world; once it is gone it stays away."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._gone = False

    def send(self, event: StreamEvent) -> Any:
        if self._gone:
            raise ClientGoneError
        try:
            self._world.call("client.send", lambda: self._world.events.append(event))
        except BaseException:
            self._gone = True
            raise


def build(config: Config, world: World) -> Harness:
    """A harness whose every host object is in the world."""
    backoff = config.backoff
    return Harness(
        world.component("DIAGNOSIS_AGENT"),
        [
            Tool(world, "logs"),
            ProjectingTool(world, "cfg"),
            Tool(world, "strict", {"q": Parameter(("str",))}),
        ],
        router=world.component("INTENT_ROUTER") if config.router else None,
        responder=world.component("RESPONDER") if config.responder else None,
        repairer=world.component("EVIDENCE_REPAIR") if config.repairer else None,
        semantic_guard=world.component("SEMANTIC_GUARD"),
        canonical_store=CanonicalStore(world),
        run_store=RunStore(world),
        limits=config.limits,
        progress=config.progress,
        required_context=config.required,
        policy=ReleasePolicy(distinguish_budget=config.distinguish),
        on_disconnect=config.on_disconnect,
        backoff=(lambda _component, _number: backoff) if backoff else None,
        clock=world.clock,
        ids=counting_ids(),
    )


def _arguments(config: Config, world: World) -> dict[str, Any]:
    return {
        "client": Client(world) if config.client else None,
        "budget": None if config.parent is None else Budget(model_attempts=config.parent),
    }


@coroutine
def _suspend(site: str) -> Generator[str, None, None]:
    yield site


class SteppedSeam(SyncSeam):
    """A seam that stops before each call of a component."""

    async def call(self, site: str, function: Callable[..., Any], *arguments: Any) -> Answer:
        if site in COMPONENTS:
            await _suspend(site)
        return await super().call(site, function, *arguments)


class Stepped:
    """
    One run under way.

    Calls of components wait for :meth:`answer`; all other calls do what their host object does,
    unless a step was planned for the next call of their site.
    """

    def __init__(self, config: Config) -> None:
        self.world = World(self._next_step)
        self.harness = build(config, self.world)
        clock = self.world.clock
        seam = SteppedSeam(clock, clock.monotonic(), self.harness._ids, None)
        arguments = _arguments(config, self.world)
        self.parent: Budget | None = arguments["budget"]
        self.run: Run = self.harness._prepare(
            seam, Request("why?"), None, None, arguments["client"], self.parent
        )
        self._listening = listening(self.world.token, self.run)
        self._flow: Any = run_flow(self.run)
        self._planned: dict[str, deque[Step]] = {}
        self._answer: Step | None = None
        self._happened: list[tuple[str, Any]] = []
        #: The component that waits for its answer, or ``None`` once the run has ended.
        self.waiting: str | None = None
        #: The record that stands, once the run has ended.
        self.record: RunRecord | None = None

    def begin(self) -> None:
        """Open the run, and go on to the first call of a component."""
        self._listening.__enter__()
        self._go_on()

    def plan(self, site: str, step: Step) -> None:
        """Plan what the next call of a site does that is no component's."""
        self._planned.setdefault(site, deque()).append(step)

    def happen(self, kind: str, value: Any) -> None:
        """Let something happen during the call that waits."""
        self.world.happen(kind, value)
        self._happened.append((kind, value))

    def answer(self, step: Step) -> None:
        """Let the call that waits return, and go on to the next one."""
        self._answer = step
        self._go_on()

    def _go_on(self) -> None:
        try:
            self.waiting = self._flow.send(None)
        except StopIteration as finished:
            self.waiting, self.record = None, finished.value
            self._listening.__exit__()

    def _next_step(self, site: str) -> tuple[Step, Happenings]:
        if site in COMPONENTS:
            step, self._answer = self._answer, None
            assert step is not None
            happened, self._happened = tuple(self._happened), []
            # while it waited, all of it has happened already
            return evolve(step, before=happened), ()
        planned = self._planned.get(site)
        step = planned.popleft() if planned else Step()
        return step, step.before


@define
class Replay:
    """The calls of a run again, played to the synchronous driver."""

    config: Config
    script: Iterable[tuple[str, Step]]
    left: deque[tuple[str, Step]] = field(init=False)
    world: World = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.left = deque(self.script)
        self.world = World(self._next_step)

    def _next_step(self, site: str) -> tuple[Step, Happenings]:
        expected, step = self.left.popleft()
        assert expected == site
        return step, step.before

    def run(self) -> tuple[RunRecord, BaseException | None]:
        """Play the run again: its record, and what goes on to the caller."""
        made = build(self.config, self.world)
        arguments = _arguments(self.config, self.world)
        return made._execute(Request("why?"), cancel=self.world.token, **arguments)
