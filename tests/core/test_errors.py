"""Every error says what, where and what is allowed, and survives pickling."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import pytest

from harness import EventKind, FailureKind, RunState, Usage, errors
from harness.errors import (
    AwaitableResultError,
    ClientGoneError,
    DivergenceError,
    HarnessError,
    IllegalCombinationError,
    IllegalTransitionError,
    InvalidArgumentError,
    JournalConflictError,
    MalformedOutputError,
    NotAPreviousTurnError,
    ProviderError,
    RateLimitedError,
    RecordDecodeError,
    RunExistsError,
    SchemaVersionError,
    StoreError,
    StreamOrderError,
    UnknownMemberError,
)

ALLOWED = (EventKind.STATUS, EventKind.DONE)

# An instance of every class, with its text.
TEXTS: list[tuple[Exception, str]] = [
    (HarnessError("x"), "x"),
    (ClientGoneError(), ""),
    (ProviderError(), "UNCLASSIFIED"),
    (ProviderError("503", kind=FailureKind.CAPACITY), "CAPACITY: 503"),
    (ProviderError("x", usage=Usage(1, 2), retry_after=5.0), "UNCLASSIFIED: x"),
    (errors.ProviderTimeoutError("slow"), "TIMEOUT: slow"),
    (errors.TransportError("reset"), "TRANSPORT: reset"),
    (RateLimitedError("429", retry_after=3), "RATE_LIMITED: 429"),
    (errors.InvalidOutputError("{bad"), "INVALID_OUTPUT: {bad"),
    (errors.CapacityError(), "CAPACITY"),
    (errors.RejectedError("401"), "REJECTED: 401"),
    (
        MalformedOutputError("Claim.text", "", "text that is not blank"),
        "INVALID_OUTPUT: Claim.text is ''; allowed: text that is not blank",
    ),
    (InvalidArgumentError("limits", 5, "a Limits"), "limits is 5; allowed: a Limits"),
    (
        AwaitableResultError("agent"),
        "agent is asynchronous; Harness calls plain functions, use AsyncHarness",
    ),
    (
        IllegalCombinationError(
            "RunState x ReleaseOutcome", (RunState.RUNNING, None), ((RunState.FAILED, "x"), "y")
        ),
        "RunState x ReleaseOutcome: RUNNING None cannot occur; allowed: FAILED x, y",
    ),
    (
        IllegalTransitionError("RunState", RunState.FAILED, RunState.SUCCESS, ()),
        "RunState: FAILED -> SUCCESS cannot occur; allowed: nothing",
    ),
    (StreamOrderError(EventKind.CONTENT, ALLOWED), "CONTENT is refused here; allowed: STATUS DONE"),
    (StreamOrderError(EventKind.CONTENT, ()), "CONTENT is refused here; allowed: nothing"),
    (StreamOrderError(EventKind.DONE, ALLOWED, "no outcome"), "DONE is refused here; no outcome"),
    (RunExistsError("r-1", RunState.RUNNING), "run 'r-1' exists already; it is RUNNING"),
    (
        NotAPreviousTurnError("r-1", "it is no diagnosis"),
        "run 'r-1' cannot become a previous turn: it is no diagnosis",
    ),
    (StoreError("runs.db", "is no database"), "runs.db: is no database"),
    (SchemaVersionError("runs.db", "version 9"), "runs.db: version 9"),
    (JournalConflictError("runs.db", "7 lines"), "runs.db: 7 lines"),
    (
        DivergenceError("r-1", ("step 3", "step 5")),
        "run 'r-1' cannot go on from its journal: step 3 | step 5",
    ),
    (RecordDecodeError("used.tokens", "x", "a number"), "used.tokens is 'x'; allowed: a number"),
    (UnknownMemberError("run_state", "FOO", "RUNNING"), "run_state is 'FOO'; allowed: RUNNING"),
]

# The kind that each class stands for.
KINDS = {
    "ProviderError": "UNCLASSIFIED",
    "ProviderTimeoutError": "TIMEOUT",
    "TransportError": "TRANSPORT",
    "RateLimitedError": "RATE_LIMITED",
    "InvalidOutputError": "INVALID_OUTPUT",
    "MalformedOutputError": "INVALID_OUTPUT",
    "CapacityError": "CAPACITY",
    "RejectedError": "REJECTED",
}

BUILTINS = {
    "MalformedOutputError": ValueError,
    "InvalidArgumentError": ValueError,
    "AwaitableResultError": TypeError,
    "IllegalCombinationError": ValueError,
    "IllegalTransitionError": ValueError,
    "NotAPreviousTurnError": ValueError,
    "RecordDecodeError": ValueError,
    "UnknownMemberError": ValueError,
}

CLASSES = [
    value
    for value in vars(errors).values()
    if inspect.isclass(value) and value.__module__ == errors.__name__
]


@pytest.mark.parametrize(("error", "text"), TEXTS, ids=lambda value: type(value).__name__)
def test_the_text_of_an_error(error: Exception, text: str) -> None:
    """An error says what is wrong, where, and what is allowed."""
    assert str(error) == text


@pytest.mark.parametrize("error", [error for error, _ in TEXTS], ids=lambda e: type(e).__name__)
def test_an_error_pickles(error: Exception) -> None:
    """An error comes back from another process with its type, text and attributes."""
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert again.args == error.args
    assert {**vars(again), "value": None} == {**vars(error), "value": None}


def test_every_class_is_tried() -> None:
    """The list above has every error class, and every one is public, exported and documented."""
    assert {type(error) for error, _ in TEXTS} == set(CLASSES)
    assert {cls.__name__ for cls in CLASSES} == set(errors.__all__)
    assert all(cls.__doc__ for cls in CLASSES)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_the_tree(cls: type[Exception]) -> None:
    """Every error is a HarnessError, and the builtin that callers already catch."""
    assert issubclass(cls, HarnessError)
    assert issubclass(cls, BUILTINS.get(cls.__name__, Exception))
    assert f"+-- {cls.__name__} " in (errors.__doc__ or "") or cls is HarnessError


@pytest.mark.parametrize("name", KINDS)
def test_a_provider_error_is_classified(name: str) -> None:
    """A provider error carries its kind, whatever its message says."""
    if name == "MalformedOutputError":
        error: ProviderError = MalformedOutputError("x", "timeout", "y")
    else:
        error = getattr(errors, name)("timeout 429 connection reset")
    assert error.kind.name == KINDS[name]
    assert (error.usage, error.retry_after) == (None, None)


def test_a_kind_may_be_given() -> None:
    """A kind that is given counts before the class's own."""
    error = RateLimitedError("x", kind=FailureKind.REJECTED, usage=Usage(1), retry_after=2.5)
    assert (error.kind, error.usage, error.retry_after) == (FailureKind.REJECTED, Usage(1), 2.5)


class Unpicklable:
    """A value that no other process can be given."""

    def __reduce__(self) -> Any:
        message = "no"
        raise TypeError(message)

    def __repr__(self) -> str:
        return "<unpicklable>"


def test_a_refused_value_need_not_pickle() -> None:
    """A malformed value is told by its text where the error goes to another process."""
    error = MalformedOutputError("turn", Unpicklable(), "an AgentTurn")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert again.value == "<unpicklable>"
    assert str(again) == "INVALID_OUTPUT: turn is <unpicklable>; allowed: an AgentTurn"


class Broken:
    """A value that cannot be shown."""

    def __repr__(self) -> str:
        message = "cannot"
        raise RuntimeError(message)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("x" * 300, f"'{'x' * 199}... (302 characters)"),
        (Broken(), "<Broken whose repr raised RuntimeError>"),
    ],
)
def test_a_value_is_shown_bounded(value: Any, shown: str) -> None:
    """Whatever a value's repr does, the error text is bounded and the error survives."""
    assert str(InvalidArgumentError("x", value, "y")) == f"x is {shown}; allowed: y"


def test_attributes() -> None:
    """Every error keeps its values as attributes."""
    combination = IllegalCombinationError("pair", (1, 2), ((3, 4),))
    transition = IllegalTransitionError("machine", "a", "b", ("c",))
    order = StreamOrderError(EventKind.DONE, ALLOWED, "so")
    assert (combination.what, combination.found, combination.allowed) == ("pair", (1, 2), ((3, 4),))
    assert (transition.machine, transition.state, transition.target) == ("machine", "a", "b")
    assert (order.kind, order.allowed, order.why) == (EventKind.DONE, ALLOWED, "so")
    assert (RunExistsError("r", RunState.FAILED).state, StoreError("a", "b").why) == (
        RunState.FAILED,
        "b",
    )
