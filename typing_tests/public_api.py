"""What the type checkers infer of the public interface, and what they refuse."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, assert_type

from harness import (
    AgentTurn,
    AgentView,
    Attempt,
    CanonicalRecord,
    Citation,
    DiagnosisDraft,
    Explanation,
    Fact,
    FallbackType,
    FunctionTool,
    Harness,
    Limits,
    Parameter,
    PreviousTurn,
    PublicContent,
    ReleaseOutcome,
    Request,
    Route,
    RunRecord,
    RunResult,
    RunState,
    SemanticCase,
    SemanticVerdict,
    StopReason,
    StreamEvent,
    ToolCall,
    explain,
    previous_turn,
    tool,
)
from harness.ports import (
    CanonicalStore,
    DiagnosisAgent,
    EventSink,
    Responder,
    Router,
    RunStore,
    SemanticGuard,
    Tool,
)


# A tool is a typed function.
@tool
def search_log(pattern: str, limit: int = 10) -> list[str]:
    """Search a log."""
    return [pattern][:limit]


@tool(name="metrics")
def read_metrics(window: str) -> Iterable[Fact]:
    """Read metrics."""
    yield Fact(window, source="metrics")


assert_type(search_log, FunctionTool)
assert_type(read_metrics, FunctionTool)
assert_type(search_log.parameters, Mapping[str, Parameter] | None)


# An agent is an object with next_turn, or a function of the view.
class Agent:
    """An agent."""

    def next_turn(self, view: AgentView, attempt: Attempt) -> AgentTurn:
        """Ask once, then draft."""
        assert_type(view.stop, StopReason | None)
        assert_type(view.records, Sequence[CanonicalRecord])
        assert_type(attempt.seconds_left(), float | None)
        if not view.records:
            return AgentTurn(calls=[ToolCall("search_log", {}, {"pattern": "ERROR"})])
        return AgentTurn(draft=DiagnosisDraft("…", [Citation(view.records[0].invocation_id)]))


def agent(view: AgentView) -> AgentTurn:
    """Do the same in a function."""
    return AgentTurn(calls=[ToolCall("search_log", {"service": view.question})])


# Every port is a protocol: the right shape is enough.
class Everything:
    """Plays every other role."""

    name = "everything"
    description = "Plays every role."
    parameters: Mapping[str, Parameter] | None = None

    def route(self, request: Request, attempt: Attempt) -> Route:
        """Route."""
        raise NotImplementedError(request, attempt)

    def reply(self, request: Request, attempt: Attempt) -> str:
        """Reply."""
        return f"{request.question} {attempt.number}"

    def execute(self, call: ToolCall, attempt: Attempt) -> object:
        """Execute."""
        return f"{call.tool} {attempt.number}"

    def judge(self, case: SemanticCase, attempt: Attempt) -> SemanticVerdict:
        """Judge."""
        raise NotImplementedError(case, attempt)

    def send(self, event: StreamEvent) -> None:
        """Send."""
        raise NotImplementedError(event)


class Records:
    """Keeps canonical records."""

    def save(self, record: CanonicalRecord) -> None:
        """Save."""
        raise NotImplementedError(record)

    def load(self, invocation_id: str) -> CanonicalRecord | None:
        """Load."""
        raise NotImplementedError(invocation_id)


class Runs:
    """Keeps run records."""

    def begin(self, record: RunRecord) -> None:
        """Begin."""
        raise NotImplementedError(record)

    def finish(self, record: RunRecord) -> RunRecord | None:
        """Finish."""
        raise NotImplementedError(record)

    def mark_delivered(self, run_id: str) -> None:
        """Mark."""
        raise NotImplementedError(run_id)

    def load(self, run_id: str) -> RunRecord | None:
        """Load."""
        raise NotImplementedError(run_id)


an_agent: DiagnosisAgent = Agent()
a_tool: Tool = Everything()
another_tool: Tool = search_log
a_router: Router = Everything()
a_responder: Responder = Everything()
a_guard: SemanticGuard = Everything()
a_sink: EventSink = Everything()
a_store: CanonicalStore = Records()
a_run_store: RunStore = Runs()

# A run.
harness = Harness(Agent(), [search_log, read_metrics, a_tool], semantic_guard=a_guard)
result = harness.run("Why do payments fail?", context={"service": "payment"}, client=a_sink)
assert_type(result, RunResult)
assert_type(result.record, RunRecord)
assert_type(result.public, PublicContent)
assert_type(result.explain(), Explanation)
assert_type(explain(result.record), Explanation)
assert_type(result.record.run_state, RunState)
assert_type(result.record.release_outcome, ReleaseOutcome | None)
assert_type(result.record.fallback_type, FallbackType | None)
assert_type(previous_turn(result.record), PreviousTurn)
assert_type(harness.limits, Limits)
Harness(agent).run(Request("Why?"), previous=[previous_turn(result.record)], deadline=30)

# What must be refused.
Harness()  # type: ignore[call-arg]
Harness(Agent(), router=Agent())  # type: ignore[arg-type]
Harness(Agent(), canonical_store=Runs())  # type: ignore[arg-type]
Harness(Agent(), limits=3)  # type: ignore[arg-type]
harness.run(3)  # type: ignore[arg-type]
harness.run("Why?", context={"service": 3})  # type: ignore[dict-item]
harness.run("Why?", None)  # type: ignore[call-arg]
explain(result)  # type: ignore[arg-type]
Fact(3)  # type: ignore[arg-type]
Limits(tool_calls="3")  # type: ignore[arg-type]
result.record = result.record  # type: ignore[misc]
not_a_decorator: Callable[..., Any] = tool(3)  # type: ignore[call-overload]
