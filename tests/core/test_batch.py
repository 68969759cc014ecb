"""A tool call from its arguments to its canonical record (section 3.5)."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, UserDict, deque
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import count
from typing import Any

import pytest

from harness import (
    AgentTurn,
    AsyncHarness,
    CancelToken,
    Cut,
    Fact,
    FailureKind,
    Harness,
    InvocationCode,
    Limits,
    Parameter,
    Request,
    RunRecord,
    RunState,
    StopCause,
    ToolCall,
)
from harness._flow import run_flow
from harness._seam import SeamBroken
from harness._sync import SyncSeam, drive
from harness.errors import ClientGoneError, ProviderError
from harness.stores.memory import MemoryCanonicalStore, MemoryRunStore
from harness.testing import RecordingClient, Script, VirtualClock, counting_ids
from tests.core.doubles import (
    ProjectedSource,
    Source,
    asking,
    citing,
    drafting,
    ending,
    events_of,
    evidence,
    harness,
    supported,
)

NULL = drafting(None)


def _asked(*sources: Source, calls: AgentTurn | None = None, **options: Any) -> RunRecord:
    """The record of a run that makes one batch and then has no conclusion."""
    return harness([calls or asking({}), NULL], *sources, **options).run("why?").record


def _row(record: RunRecord, place: int = 0) -> tuple[str, str | None, str | None]:
    row = record.invocations[place]
    found = row.evidence_status
    code = row.code
    return row.status.name, found.name if found else None, code.name if code else None


FOUND = ("READY", "EVIDENCE_FOUND", None)
EMPTY = ("READY", "NO_EVIDENCE", None)


def _error(code: str) -> tuple[str, str, str]:
    return "ERROR", "ERROR", code


def _facts(record: RunRecord) -> list[str]:
    return [fact.text for fact in record.snapshot.facts] if record.snapshot else []


# --- what projects by itself


def _generator(*items: Any) -> Callable[..., Iterator[Any]]:
    def give(*_arguments: Any) -> Iterator[Any]:
        for item in items:
            if isinstance(item, BaseException):
                raise item
            yield item

    return give


class Lines:
    """An iterable of the host's own."""

    def __iter__(self) -> Iterator[str]:
        return iter(["a", "b"])


@pytest.mark.parametrize(
    ("value", "facts"),
    [
        ("a", ["a"]),
        (Fact("a", "x:1"), ["a"]),
        (["a", Fact("b")], ["a", "b"]),
        (("a", "b"), ["a", "b"]),
        (_generator("a", Fact("b")), ["a", "b"]),
        (lambda *_: map(str, [1, 2]), ["1", "2"]),
        (deque(["a", "b"]), ["a", "b"]),
        (lambda *_: Lines(), ["a", "b"]),
        (lambda *_: {"a": 1, "b": 2}.keys(), ["a", "b"]),
    ],
)
def test_what_projects_by_itself(value: Any, facts: list[str]) -> None:
    """Text, facts, and any iterable of them in a fixed order, project by themselves."""
    record = _asked(Source(value))
    assert (_row(record), _facts(record)) == (FOUND, facts)


@pytest.mark.parametrize("value", [None, "", "  \n", [], (), ["", " "], Fact(""), _generator()])
def test_nothing_found(value: Any) -> None:
    """Nothing, and nothing but blanks, says that this scope is empty."""
    record = _asked(Source(value))
    assert _row(record) == EMPTY
    assert record.invocations[0].cut is None
    assert [scope.tool for scope in record.snapshot.empty] == ["logs"]  # type: ignore[union-attr]


def test_facts_are_numbered_after_blank_ones_were_dropped() -> None:
    """Blank facts are no facts, and take no number."""
    agent = [asking({}), drafting("x", citing(1, 2, "second"))]
    record = harness(agent, Source([" ", "first", "", "second"])).run("why?").record
    assert record.stop_cause is StopCause.REPORT_APPROVED


# --- asynchronous iterators, under the driver that awaits them


def _async_generator(*items: Any, closed: list[bool] | None = None) -> Callable[..., Any]:
    async def give(*_arguments: Any) -> AsyncIterator[Any]:
        try:
            for item in items:
                if isinstance(item, BaseException):
                    raise item
                yield item
        finally:
            if closed is not None:
                closed.append(True)

    return give


class AsyncLines:
    """An asynchronous iterator that is no generator, and has no end."""

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> str:
        return "x"


def _awaited(source: Source, **options: Any) -> RunRecord:
    given = {"limits": Limits.none(), "semantic_guard": supported, **options}
    made = AsyncHarness(Script([asking({}), NULL]), [source], **given)
    return asyncio.run(made.run("why?")).record


@pytest.mark.parametrize(
    ("step", "row"),
    [
        (_async_generator("a", Fact("b")), FOUND),
        (_async_generator(), EMPTY),
        (_async_generator("a", TimeoutError()), _error("TIMEOUT")),
        (_async_generator(1), _error("PROJECTION_FAILED")),
        (lambda *_: AsyncLines(), _error("RESULT_TOO_LARGE")),
    ],
)
def test_an_asynchronous_iterator(step: Any, row: Any) -> None:
    """An asynchronous iterator's items are taken like those of a plain one, up to the limit."""
    record = _awaited(Source(step), limits=Limits(result_bytes=100))
    assert _row(record) == row


def test_an_asynchronous_generator_is_closed() -> None:
    """An asynchronous generator that gives too much is left and closed at once."""
    closed: list[bool] = []
    step = _async_generator(*["x" * 50] * 9, closed=closed)
    record = _awaited(Source(step), limits=Limits(result_bytes=100))
    assert (_row(record), closed) == (_error("RESULT_TOO_LARGE"), [True])


def test_an_asynchronous_projector() -> None:
    """A projector may be an asynchronous generator, bounded in number like a plain one."""
    record = _awaited(ProjectedSource("raw", project=_async_generator("a", "b")))
    assert _facts(record) == ["a", "b"]
    endless = ProjectedSource("raw", project=lambda raw: AsyncLines())
    record = _awaited(endless, limits=Limits(facts_per_result=2))
    assert record.invocations[0].cut is not None
    assert record.invocations[0].cut.original_facts == 1_000_000


# --- what is unusable


def _cycle() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


def _deep() -> list[Any]:
    value: list[Any] = []
    for _ in range(5000):
        value = [value]
    return value


class LazyDict(dict[str, Any]):
    """A mapping that fails when it is read."""

    def items(self) -> Any:
        raise ConnectionError


class LazyList(list[Any]):
    """A list that fails when it is read."""

    def __iter__(self) -> Any:
        raise ConnectionError


class Second(list[Any]):
    """A list that can be read once."""

    reads = 0

    def __iter__(self) -> Any:
        self.reads += 1
        if self.reads > 2:
            raise ConnectionError
        return super().__iter__()


class Proxy:
    """A value whose every attribute fails."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


UNUSABLE: dict[str, Any] = {
    "a mapping": {"hits": []},
    "a number": 5,
    "a bool": True,
    "NaN": {"p99": float("nan")},
    "a list of NaN": [float("inf")],
    "a cycle": _cycle(),
    "a deep list": _deep(),
    "bytes": b"\xff\x00",
    "an object": object(),
    "a set": {"a", "b"},
    "odd keys": {1: "a", "1": "b"},
    "a list of numbers": [1, 2],
    "a list of lists": [["a"]],
    "facts and numbers": [Fact("a"), 5],
    "a mapping of its own kind": UserDict(a=1),
    "a mapping that fails": LazyDict(a=1),
    "a list that fails": LazyList(["a"]),
    "a list that fails later": Second(["a"]),
    "a proxy": Proxy(),
    "a generator of numbers": _generator(1, 2),
    "a class": Fact,
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_what_is_unusable(name: str) -> None:
    """Any other value is a projection error of its call; the run goes on and releases nothing."""
    value = UNUSABLE[name]
    step = value if callable(value) and name.startswith("a generator") else lambda *_: value
    record = _asked(Source(step, "found"), calls=asking({"n": 1}, {"n": 2}))
    assert (_row(record, 0), _row(record, 1)) == (_error("PROJECTION_FAILED"), FOUND)
    assert record.attempts[1].failure is FailureKind.INVALID_OUTPUT
    assert _facts(record) == ["found"]


# --- projectors


def _raises(raw: Any) -> Any:
    raise KeyError(raw)


PROJECTIONS: list[tuple[Callable[[Any], Any], tuple[str, Any, Any], list[str]]] = [
    (lambda raw: [f"{raw['n']} hits"], FOUND, ["3 hits"]),
    (lambda raw: "one text", FOUND, ["one text"]),
    (lambda raw: Fact("a", "x:1"), FOUND, ["a"]),
    (lambda raw: (text for text in ("a", "b")), FOUND, ["a", "b"]),
    (lambda raw: deque(["a"]), FOUND, ["a"]),
    (lambda raw: None, EMPTY, []),
    (lambda raw: [], EMPTY, []),
    (lambda raw: raw, _error("PROJECTION_FAILED"), []),
    (lambda raw: 5, _error("PROJECTION_FAILED"), []),
    (lambda raw: [5], _error("PROJECTION_FAILED"), []),
    (lambda raw: {"a"}, _error("PROJECTION_FAILED"), []),
    (lambda raw: LazyList(["a"]), _error("PROJECTION_FAILED"), []),
    (_raises, _error("PROJECTION_FAILED"), []),
    (lambda raw: (text for text in _raises(raw)), _error("PROJECTION_FAILED"), []),
]


@pytest.mark.parametrize(("project", "row", "facts"), PROJECTIONS)
def test_a_projector(project: Any, row: Any, facts: list[str]) -> None:
    """A tool's own projector turns any measured value into facts, or its call fails."""
    record = _asked(ProjectedSource({"n": 3}, project=project))
    assert (_row(record), _facts(record)) == (row, facts)


@pytest.mark.parametrize("value", [b"raw", UserDict(a=1), ["a"], _generator("a")])
def test_what_a_projector_gets(value: Any) -> None:
    """A projector gets the value as the tool returned it, a generator's items as a list."""
    seen: list[Any] = []
    measured = not isinstance(value, UserDict)
    record = _asked(ProjectedSource(value, project=seen.append))
    assert _row(record) == (EMPTY if measured else _error("PROJECTION_FAILED"))
    assert [type(raw) for raw in seen] == ([list if callable(value) else type(value)] * measured)


def test_an_infinite_projection() -> None:
    """A projector's iterator is bounded in number, whatever the limits say."""
    taken: list[int] = []

    def project(_raw: Any) -> Iterator[str]:
        for number in count():
            taken.append(number)
            yield "x"

    record = _asked(ProjectedSource("raw", project=project), limits=Limits(facts_per_result=3))
    assert record.invocations[0].cut == Cut(
        original_facts=1_000_000, kept_facts=3, original_bytes=1_000_000, kept_bytes=3
    )
    assert len(taken) <= 1_000_001


def _interrupts(_raw: Any) -> Any:
    raise KeyboardInterrupt


@pytest.mark.parametrize("project", [_interrupts, _generator(KeyboardInterrupt())])
def test_an_interrupt_in_a_projector(project: Any) -> None:
    """An interrupt in a projector ends the run like one in its tool; the call has no row."""
    made = harness([asking({})], ProjectedSource("raw", project=project))
    with pytest.raises(KeyboardInterrupt):
        made.run("why?", run_id="run")
    record = made.run_store.load("run")
    assert record is not None
    assert (ending(record)[1], record.invocations) == ("INTERRUPTED", ())


# --- what fails


@pytest.mark.parametrize(
    ("error", "code"),
    [(ProviderError("x", kind=kind), kind.name) for kind in FailureKind]
    + [
        (TimeoutError(), "TIMEOUT"),
        (ConnectionRefusedError(), "TRANSPORT"),
        (ValueError("timeout"), "UNCLASSIFIED"),
        (StopIteration(), "UNCLASSIFIED"),
        (RecursionError(), "UNCLASSIFIED"),
        (MemoryError(), "UNCLASSIFIED"),
        (_generator("a", TimeoutError()), "TIMEOUT"),
        (_generator("a", ValueError()), "UNCLASSIFIED"),
    ],
)
def test_a_tool_that_raises(error: Any, code: str) -> None:
    """A tool that raises has an ERROR row with the kind as its code, and the run goes on."""
    record = _asked(Source(error, "found"), calls=asking({"n": 1}, {"n": 2}))
    assert (_row(record, 0), _row(record, 1)) == (_error(code), FOUND)
    assert record.attempts[1].failure is FailureKind[code]


def test_an_error_text_stays_private() -> None:
    """What an exception says is in the trace, never in public, and the agent is not shown it."""
    secret = ConnectionError("http://x/?api_key=sk-TEST")
    secret.__cause__ = ValueError("sk-TEST")
    seen: list[Any] = []

    def agent(view: Any) -> AgentTurn:
        seen.append((list(view.records), list(view.batch), view.refused))
        return NULL if view.records else asking({"n": 1}, {"n": 2})

    record = harness(agent, Source("found", secret)).run("why?").record
    assert "sk-TEST" in events_of(record, "ATTEMPT_FAILED")[0].detail["detail"]
    assert "sk-TEST" not in repr((record.public, record.snapshot, record.invocations, seen))


def test_a_tool_named_after_a_signal_of_the_harness() -> None:
    """Only the harness itself says that a result is too large."""

    class _TooLarge(Exception):  # noqa: N818  the same name
        pass

    assert _row(_asked(Source(_TooLarge()))) == _error("UNCLASSIFIED")


# --- calls that no tool can take

PARAMETERS = {"q": Parameter(("str",))}


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (ToolCall("get_logz"), "UNKNOWN_TOOL"),
        (ToolCall("Logs", None, {"q": "x"}), "UNKNOWN_TOOL"),
        (ToolCall("logs"), "INVALID_ARGUMENTS"),
        (ToolCall("logs", None, {"q": 5}), "INVALID_ARGUMENTS"),
        (ToolCall("logs", None, {"q": "x", "r": 1}), "INVALID_ARGUMENTS"),
        (ToolCall("logs", None, "{bad"), "INVALID_ARGUMENTS"),
        (ToolCall("logs", None, "[]"), "INVALID_ARGUMENTS"),
        (ToolCall("logs", None, {"q": float("nan")}), "INVALID_ARGUMENTS"),
    ],
)
def test_a_call_that_no_tool_can_take(call: ToolCall, code: str) -> None:
    """Such a call is an ERROR row and counted; its tool is not executed."""
    source = Source(parameters=PARAMETERS)
    record = _asked(source, calls=AgentTurn([call]))
    assert _row(record) == _error(code)
    assert (source.script.calls, record.used.tool_calls) == ([], 1)
    assert record.attempts[1].failure is FailureKind.REJECTED
    assert events_of(record, "ATTEMPT_FAILED")[0].detail["error"] == code


def test_arguments_that_are_no_json_need_no_declared_parameters() -> None:
    """Arguments that are no JSON object are refused by a tool that accepts any, too."""
    source = Source()
    call = ToolCall("logs", None, "{bad")
    record = _asked(source, calls=AgentTurn([call]))
    assert (_row(record), source.script.calls) == (_error("INVALID_ARGUMENTS"), [])


# --- sizes


def _sized(value: Any, limit: int, **options: Any) -> RunRecord:
    return _asked(
        Source("first", value),
        calls=asking({"n": 1}, {"n": 2}),
        limits=Limits(result_bytes=limit),
        **options,
    )


SIZES: list[tuple[Any, int]] = [
    ("日" * 20, 60),
    (Fact("日" * 20, "a source is no size"), 60),
    (["日" * 4, "abc"], 22),
    ([Fact("日" * 4), "abc"], 22),
    ([Fact('say "so"'), Fact("")], 17),
    (_generator("日" * 4, "abc"), 22),
]


@pytest.mark.parametrize(("value", "size"), SIZES)
def test_a_result_at_the_limit(value: Any, size: int) -> None:
    """A result is measured in bytes: exactly at the limit it is taken, one byte over it is not."""
    assert _row(_sized(value, size), 1)[0] == "READY"
    record = _sized(value, size - 1)
    assert _row(record, 1) == _error("RESULT_TOO_LARGE")
    assert ending(record) == ("FAILED", "RESULT_TOO_LARGE", "FALLBACK", "INSUFFICIENT_EVIDENCE")
    assert _facts(record) == ["first"]


def test_a_result_too_large_ends_its_batch() -> None:
    """The calls behind a result that is too large are not made, and given back."""
    source = Source("x" * 99, "never")
    calls = asking({"n": 1}, {"n": 2}, {"n": 3})
    record = _asked(source, calls=calls, limits=Limits(result_bytes=50))
    assert (len(source.script.calls), record.used.tool_calls) == (1, 1)
    assert len(record.invocations) == 1


@pytest.mark.parametrize("item", ["x" * 10, Fact("x" * 10), b"x" * 10])
def test_a_generator_is_left_at_the_limit(item: Any) -> None:
    """A generator that gives more than the limit is left; it may have no end."""
    taken: list[int] = []

    def endless(*_arguments: Any) -> Iterator[Any]:
        for number in count():
            taken.append(number)
            yield item

    assert _row(_sized(endless, 100), 1) == _error("RESULT_TOO_LARGE")
    assert len(taken) <= 11


def test_a_generator_of_nothing_is_left_too() -> None:
    """A generator is bounded in number, whatever its items weigh and whatever the limits are."""
    record = _asked(Source(lambda *_: (None for _ in count())))
    assert record.stop_cause is StopCause.RESULT_TOO_LARGE


def test_size_is_checked_before_projecting() -> None:
    """A result that is too large is not projected."""
    source = ProjectedSource({"x": "y" * 99}, project=_raises)
    record = _asked(source, limits=Limits(result_bytes=50))
    assert _row(record) == _error("RESULT_TOO_LARGE")


# --- bounds of facts


def _cut(value: Any, **limits: Any) -> tuple[list[str], Cut | None]:
    record = _asked(Source(value), limits=Limits(**limits))
    return _facts(record), record.invocations[0].cut


def test_facts_within_the_bounds() -> None:
    """What fits is kept as it is, without a cut."""
    assert _cut(["a" * 8, "b"], fact_bytes=8, facts_per_result=2) == (["a" * 8, "b"], None)


def test_a_long_fact_is_cut_at_a_character() -> None:
    """A fact that is too long is cut at a character, and the record says by how much."""
    facts, cut = _cut("ab\U0001f600cd", fact_bytes=5)
    assert facts == ["ab"]
    assert cut == Cut(original_facts=1, kept_facts=1, original_bytes=8, kept_bytes=2)
    assert _cut("日日日", fact_bytes=6)[0] == ["日日"]


def test_too_many_facts_are_cut_off() -> None:
    """More facts than the bound allows are cut off, and the record says how many there were."""
    facts, cut = _cut(["a", " ", "bb", "ccc", "dddd"], facts_per_result=2)
    assert facts == ["a", "bb"]
    assert cut == Cut(original_facts=4, kept_facts=2, original_bytes=10, kept_bytes=3)


@pytest.mark.parametrize("value", ["abc", "    x"])
def test_a_fact_of_which_nothing_is_left(value: str) -> None:
    """A fact of which only blanks are left is no fact; that something was cut is still said."""
    record = _asked(Source(value), limits=Limits(fact_bytes=0 if value == "abc" else 4))
    assert _row(record) == EMPTY
    assert record.invocations[0].cut == Cut(
        original_facts=1, kept_facts=0, original_bytes=len(value), kept_bytes=0
    )


class Text(str):
    """A text of the host's own kind."""

    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "text", "source", "repaired"),
    [
        (Fact("a\ud800b", "x:1"), "a\ufffdb", "x:1", True),
        (Fact("ab", "x\udfff"), "ab", "x\ufffd", True),
        (Fact("a\ud800" + "b" * 9, "x"), "a\ufffdb", "x", True),
        ("\ud83d\ude00", "\ufffd", "", True),
        (Text("ab"), "ab", "", False),
        (Fact(Text("ab"), Text("x")), "ab", "x", False),
        (Fact("ab", "x" * 2000), "ab", "x" * 1024, False),
    ],
)
def test_text_is_repaired_on_arrival(value: Any, text: str, source: str, repaired: bool) -> None:
    """What UTF-8 cannot encode is replaced and flagged before size, digest and store see it."""
    store = MemoryCanonicalStore()
    record = _asked(Source(value), canonical_store=store, limits=Limits(fact_bytes=5))
    row = record.invocations[0]
    kept = store.load(row.invocation_id)
    assert kept is not None
    assert kept.facts == (Fact(text, source),)
    assert (row.cut is not None and row.cut.repaired) is repaired
    assert row.byte_count == len(text.encode()) == record.used.evidence_bytes


def test_evidence_bytes_are_the_stored_ones() -> None:
    """The budget is charged with the UTF-8 bytes of the stored texts, and with nothing else."""
    record = _asked(Source([Fact("日本", "a long source"), "abc", "  "]))
    assert record.used.evidence_bytes == record.invocations[0].byte_count == 9


# --- canonical records


def test_an_invocation_is_saved() -> None:
    """Every finished invocation has one row and one record, read back, ERROR ones included."""
    store = MemoryCanonicalStore()
    calls = AgentTurn(asking({"n": 1}, {"n": 2}).calls + asking({}, tool="none").calls)
    record = _asked(Source("a", TimeoutError()), calls=calls, canonical_store=store)
    assert [row.number for row in record.invocations] == [1, 2, 3]
    kept = [store.load(row.invocation_id) for row in record.invocations]
    assert [one.invocation for one in kept if one] == list(record.invocations)
    assert [event.detail["code"] for event in events_of(record, "RECORD_SAVED")] == [
        None,
        "TIMEOUT",
        "UNKNOWN_TOOL",
    ]


def test_ids_never_repeat() -> None:
    """Two runs of the same question, tool and result have different ids."""
    made = harness(lambda view: NULL if view.records else asking({}), Source("a", repeat_last=True))
    first, second = (made.run("why?").record.invocations[0] for _ in range(2))
    assert first.invocation_id != second.invocation_id
    assert first.digest != second.digest


class Faulty(MemoryCanonicalStore):
    """A store that does something else with the n-th record."""

    def __init__(self, what: str, number: int, fault: Any = None) -> None:
        super().__init__()
        self._what, self._number, self._fault = what, number, fault

    def save(self, record: Any) -> None:
        if self._what == "save" and record.invocation.number == self._number:
            raise self._fault
        super().save(record)

    def load(self, invocation_id: str) -> Any:
        record = super().load(invocation_id)
        if self._what == "load" and record and record.invocation.number == self._number:
            if isinstance(self._fault, BaseException):
                raise self._fault
            return self._fault
        return record


FAULTS = [
    ("save", OSError("disk full")),
    ("load", OSError("disk gone")),
    ("load", None),
    ("load", "text"),
    ("load", evidence("something else")),
]


@pytest.mark.parametrize(("what", "fault"), FAULTS)
@pytest.mark.parametrize("number", [1, 2])
def test_a_store_that_cannot_be_trusted(what: str, fault: Any, number: int) -> None:
    """A record that is not stored as it was fails the run closed; nothing collected is released."""
    agent = [asking({"n": 1}, {"n": 2}, {"n": 3}), NULL]
    source = Source("a", "b", "c")
    store = Faulty(what, number, fault)
    record = harness(agent, source, canonical_store=store).run("why?").record
    assert ending(record) == ("FAILED", "STORE_UNTRUSTED", "FAILED", None)
    assert _row(record, number - 1) == _error("STORE_FAILED")
    assert (len(record.invocations), record.used.tool_calls) == (number, number)
    assert (record.public.text, record.snapshot) == ("", None)  # type: ignore[union-attr]
    assert len(events_of(record, "STORE_FAILED")) == 1


@pytest.mark.parametrize("what", ["save", "load"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_a_store_that_is_interrupted(what: str, error: type[BaseException]) -> None:
    """An interrupt of the store ends the run as one; its invocation has no row."""
    made = harness([asking({})], Source("a"), canonical_store=Faulty(what, 1, error()))
    with pytest.raises(error):
        made.run("why?", run_id="run")
    record = made.run_store.load("run")
    assert record is not None
    assert (ending(record)[1], record.invocations) == ("INTERRUPTED", ())


def test_a_value_that_was_not_stored_reaches_nobody() -> None:
    """What could not be stored is shown to no agent, and is in no row and no public text."""
    seen: list[Any] = []

    def agent(view: Any) -> AgentTurn:
        seen.append(list(view.records))
        return asking({})

    made = harness(agent, Source("MARK"), canonical_store=Faulty("save", 1, OSError()))
    record = made.run("why?").record
    assert "MARK" not in repr((seen, record.invocations, record.public))


# --- batches


def test_a_batch_runs_in_order() -> None:
    """The calls of a batch run one after another, and their records keep the order."""
    source = Source("a", "b", "c")
    record = _asked(source, calls=asking({"n": 1}, {"n": 2}, {"n": 3}))
    assert [call[0].arguments["n"] for call in source.script.calls] == [1, 2, 3]
    assert [row.call.arguments["n"] for row in record.invocations] == [1, 2, 3]
    assert [one.number for one in record.attempts if one.component.name == "TOOL"] == [1, 2, 3]


@pytest.mark.parametrize("size", [1, 2, 4])
def test_what_was_never_made_is_given_back(size: int) -> None:
    """Where a run ends within a batch, what was reserved and not made is given back."""
    token = CancelToken()
    source = Source(lambda *_: token.cancel() and "late")
    calls = asking(*({"n": n} for n in range(size)))
    record = harness([calls], source, limits=Limits(tool_calls=9)).run("why?", cancel=token).record
    assert (record.used.tool_calls, record.invocations) == (1, ())
    assert record.attempts[-1].late


def _timed(*steps: tuple[int, Any], **options: Any) -> tuple[Harness, VirtualClock]:
    clock = VirtualClock()

    def step(milliseconds: int, value: Any) -> Callable[..., Any]:
        def take(*_arguments: Any) -> Any:
            clock.advance(milliseconds)
            return value(*_arguments) if callable(value) else value

        return take

    source = Source(*(step(*one) for one in steps))
    agent = [asking(*({"n": n} for n in range(len(steps)))), NULL]
    return harness(agent, source, clock=clock, limits=Limits(deadline=10), **options), clock


def test_a_late_result_is_kept_by_nobody() -> None:
    """A result that comes after the deadline has an attempt and no row; earlier ones stay."""
    made, _ = _timed((9_000, "early"), (1_000, "late"), (0, "never"))
    record = made.run("why?").record
    assert (ending(record)[1], _facts(record)) == ("DEADLINE_EXCEEDED", ["early"])
    assert [one.late for one in record.attempts] == [False, False, True]
    assert record.used.tool_calls == 2


def test_a_late_result_is_not_projected() -> None:
    """What comes too late is neither measured nor projected."""
    projected: list[Any] = []
    clock = VirtualClock()

    def slow(*_: object) -> str:
        clock.advance(10_000)
        return "raw"

    source = ProjectedSource(slow, project=projected.append)
    made = harness([asking({})], source, clock=clock, limits=Limits(deadline=10))
    assert made.run("why?").record.stop_cause is StopCause.DEADLINE_EXCEEDED
    assert projected == []


@pytest.mark.parametrize("place", ["generator", "projection", "save", "load"])
def test_a_deadline_behind_a_tool(place: str) -> None:
    """A deadline that passes while a result is taken, projected or stored ends the run there."""
    clock = VirtualClock()

    def late(*_arguments: Any) -> Iterator[str]:
        clock.advance(10_000)
        yield "late"

    class Slow(MemoryCanonicalStore):
        def save(self, record: Any) -> None:
            super().save(record)
            clock.advance(10_000 if place == "save" else 0)

        def load(self, invocation_id: str) -> Any:
            clock.advance(10_000 if place == "load" else 0)
            return super().load(invocation_id)

    plain = {"generator": Source(late), "projection": ProjectedSource("raw", project=late)}
    source = plain.get(place, Source("found"))
    given: dict[str, Any] = {"clock": clock, "limits": Limits(deadline=10)}
    record = harness([asking({}), NULL], source, canonical_store=Slow(), **given).run("why?").record
    assert record.stop_cause is StopCause.DEADLINE_EXCEEDED
    stored = place in ("save", "load")
    assert (len(record.invocations), record.attempts[-1].late) == (stored, not stored)
    assert ("late" in repr(record.public)) is False


def test_a_tool_sees_its_attempt() -> None:
    """A tool sees its number, the time that is left, and whether it is still wanted."""
    seen: list[Any] = []
    token = CancelToken()

    def look(_call: ToolCall, attempt: Any) -> None:
        seen.append((attempt.component.name, attempt.number, attempt.seconds_left()))
        token.cancel()
        seen.append(attempt.is_cancelled)

    made = harness([asking({})], Source(look), limits=Limits(deadline=10))
    made.run("why?", cancel=token)
    assert seen == [("TOOL", 1, 10.0), True]


class Ahead:
    """Calls that have all returned before the first one is taken."""

    def __init__(self, steps: Any) -> None:
        self._steps = steps
        self._results: Any = None

    async def next(self) -> Any:
        if self._results is None:
            self._results = deque([(n, await step()) for n, step in enumerate(self._steps)])
        return self._results.popleft() if self._results else None

    async def close(self) -> tuple[int, ...]:
        return tuple(place for place, _ in self._results)


class AheadSeam(SyncSeam):
    """A driver that runs the calls of a batch together."""

    def start(self, steps: Any) -> Any:
        return Ahead(steps)


def test_results_that_nobody_took() -> None:
    """What finished beside the call that ended the run is discarded, and the trace says so."""
    clock = VirtualClock()
    found = iter(["a", "x" * 100, "c", "d"])
    made = harness(
        [asking(*({"n": n} for n in range(4)))],
        Source(lambda *_: next(found), repeat_last=True),
        clock=clock,
        limits=Limits(deadline=None, result_bytes=50),
    )
    seam = AheadSeam(clock, clock.monotonic(), counting_ids(), None)
    record = drive(run_flow(made._prepare(seam, Request("why?"), None, None, None, None)))
    assert record.stop_cause is StopCause.RESULT_TOO_LARGE
    assert [row.number for row in record.invocations] == [1, 2]
    late = [event.detail for event in events_of(record, "LATE_RESULT_DISCARDED")]
    assert late == [{"component": "TOOL", "tool": "logs"}] * 2


class BrokenSeam(SyncSeam):
    """A driver that is lost at the first call of a tool."""

    async def call(self, site: str, function: Callable[..., Any], *arguments: Any) -> Any:
        if site == "TOOL":
            raise SeamBroken
        return await super().call(site, function, *arguments)


def test_a_driver_that_is_lost() -> None:
    """A driver that cannot go on is left at once: nothing is ended, saved or published with it."""
    clock, client, store = VirtualClock(), RecordingClient(), MemoryRunStore()
    made = harness([asking({})], Source(), clock=clock, run_store=store)
    seam = BrokenSeam(clock, clock.monotonic(), counting_ids(), None)
    run = made._prepare(seam, Request("why?"), "lost", None, client, None)
    with pytest.raises(SeamBroken):
        drive(run_flow(run))
    assert {event.kind.name for event in client.events} == {"METADATA", "STATUS"}
    stored = store.load("lost")
    assert stored is not None
    assert stored.run_state is RunState.RUNNING


def test_a_tool_cannot_end_a_run() -> None:
    """Whatever a tool raises that is an exception, the run is the harness's to end."""
    record = _asked(Source(ClientGoneError(), "found"), calls=asking({"n": 1}, {"n": 2}))
    assert (_row(record, 0), _row(record, 1)) == (_error("UNCLASSIFIED"), FOUND)


def test_what_the_host_changes_later() -> None:
    """What a host changes after it was handed over alters no record."""
    result, arguments = ["a"], OrderedDict(q=["x"])
    call = ToolCall("logs", {"hosts": ["h1"]}, arguments)

    def agent(view: Any) -> AgentTurn:
        result.append("b")
        arguments["q"].append("y")
        return NULL if view.records else AgentTurn([call])

    record = harness(agent, Source(lambda *_: result)).run("why?").record
    row = record.invocations[0]
    assert (row.call.arguments, row.scope) == ({"q": ("x",)}, {"hosts": ("h1",)})
    assert _facts(record) == ["a", "b"]
    assert row.code is not InvocationCode.STORE_FAILED
