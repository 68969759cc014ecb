"""What came of a call, to data and back."""

from __future__ import annotations

from typing import Any, Final

from harness._journal._codec import from_data, to_data
from harness._seam import Aborted, Answer, Attempt, Failed, Failure
from harness._states import RunState
from harness._toolstep import ToolOutcome
from harness.errors import RecordDecodeError, RunExistsError

__all__ = [
    "PastInterrupt",
    "answer_from",
    "answer_to",
    "interrupt_named",
    "outcome_from",
    "outcome_to",
    "raised_from",
    "raised_to",
]

#: The parts of a tool's outcome beside what the call itself came to.
_PARTS: Final = ("facts", "byte_count", "code", "cut", "detail")
#: As much of an error's text as the flow shows.
_TEXT: Final = 500

Data = dict[str, Any]


def answer_to(answer: Answer, attempt: Attempt | None = None) -> Data:
    """
    Write an answer.

    Args:
        answer: The answer.
        attempt: What the host could report its usage to, where it could.
    """
    data = _ended(answer)
    if answer.is_ok and answer.value is not None:
        data["value"] = to_data(answer.value)
    if attempt is not None and attempt.reported is not None:
        data["reported"] = to_data(attempt.reported)
    return data


def _ended(answer: Answer) -> Data:
    """
    Write when a call ended, and how it failed.
    """
    data: Data = {"ended": to_data(answer.ended)}
    if answer.failure is not None:
        data["failure"] = to_data(answer.failure)
    if answer.interrupt is not None:
        data["interrupt"] = type(answer.interrupt).__name__
    if isinstance(answer.error, RunExistsError):
        data["exists"] = [answer.error.run_id, to_data(answer.error.state)]
    return data


def answer_from(data: Data, path: str, attempt: Attempt | None = None) -> Answer:
    """
    Read an answer back, and report what was reported.

    Args:
        data: What :func:`answer_to` gave.
        path: Where it stands, for errors.
        attempt: The attempt of the call.

    Raises:
        RecordDecodeError: It is something else.
    """
    if attempt is not None and "reported" in data:
        attempt.report(from_data(data["reported"], f"{path}.reported"))
    ended = from_data(data.get("ended"), f"{path}.ended")
    if not isinstance(ended, (int, float)) or isinstance(ended, bool):
        raise RecordDecodeError(f"{path}.ended", ended, "seconds")
    if "failure" not in data and "interrupt" not in data:
        return Answer(from_data(data.get("value"), f"{path}.value"), ended)
    return _failed(data, path, ended)


def _failed(data: Data, path: str, ended: float) -> Answer:
    if "interrupt" in data:
        return Failed(ended, interrupt=interrupt_named(data["interrupt"]))
    failure = from_data(data["failure"], f"{path}.failure")
    if type(failure) is not Failure:
        raise RecordDecodeError(f"{path}.failure", failure, "a Failure")
    error: Exception | None = None
    if "exists" in data:
        run_id, state = from_data(data["exists"], f"{path}.exists")
        error = RunExistsError(run_id, state if isinstance(state, RunState) else RunState.RUNNING)
    return Failed(ended, failure, error=error)


def outcome_to(outcome: ToolOutcome) -> Data:
    """
    Write what a tool call came to: its facts, never the raw result.

    Args:
        outcome: The outcome.
    """
    parts = {name: to_data(getattr(outcome, name)) for name in _PARTS}
    return {**_ended(outcome.answer), **{name: part for name, part in parts.items() if part}}


def outcome_from(data: Data, path: str) -> ToolOutcome:
    """
    Read an outcome back.

    Args:
        data: What :func:`outcome_to` gave.
        path: Where it stands, for errors.

    Raises:
        RecordDecodeError: It is something else.
    """
    given = {name: from_data(data[name], f"{path}.{name}") for name in _PARTS if name in data}
    return ToolOutcome(answer_from(data, path), **given)


class PastInterrupt(BaseException):
    """
    What interrupted a run when its journal was written; whoever reads it back is not interrupted.
    """


def interrupt_named(name: str) -> BaseException:
    """
    Give an exception that is no ``Exception``, by its name: the flow sees no more of it.

    Args:
        name: The type's name.
    """
    if name == Aborted.__name__:
        return Aborted()
    kinds = [kind for kind in (KeyboardInterrupt, SystemExit) if kind.__name__ == name]
    interrupt: PastInterrupt = type(name, (PastInterrupt, *kinds), {})()
    return interrupt


def raised_to(error: BaseException) -> Data:
    """
    Write what came out of a host function that the flow calls by itself.

    Args:
        error: What was raised.
    """
    if not isinstance(error, Exception):
        return {"interrupt": type(error).__name__}
    try:
        text = str(error)[:_TEXT]
    except Exception:  # noqa: BLE001  the flow shows such a one as empty too
        text = ""
    return {"raised": type(error).__name__, "text": text}


def raised_from(data: Data) -> BaseException | None:
    """
    Give something of the name and text of what was raised; ``None`` where nothing was.

    Args:
        data: An entry's data.
    """
    if "interrupt" in data:
        return interrupt_named(data["interrupt"])
    if "raised" not in data:
        return None
    error: Exception = type(data["raised"], (Exception,), {})(data.get("text", ""))
    return error
