"""Many runs: a bounded number at the same time, one budget, one stop switch, in threads."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from harness import (
    AgentView,
    AsyncHarness,
    Budget,
    CancelToken,
    Harness,
    Limits,
    ManyResult,
    Request,
    run_many,
)
from harness.errors import InvalidArgumentError
from tests.aio.worlds import approve, asking, tool


def _harness(agent: Any = None, body: Any = None, **options: Any) -> Harness:
    given = agent or asking(["logs"])
    return Harness(
        given,
        [tool("logs", body or (lambda: "a"))],
        semantic_guard=approve,
        limits=Limits.none(),
        progress="INFERRED",
        **options,
    )


def _questions(count: int) -> list[str]:
    return [f"why {place}?" for place in range(count)]


def test_every_request_gets_its_result() -> None:
    """Each result names its place and its request; all of them were run."""
    requests: list[str | Request] = [*_questions(9), Request("and why?")]
    results = sorted(run_many(_harness(), requests, workers=3), key=lambda many: many.place)
    assert [many.place for many in results] == list(range(10))
    assert [many.request for many in results] == requests
    texts = [many.result.text.splitlines()[0] for many in results if many.result]
    assert texts == ["a"] * 10


def test_no_more_run_together_than_there_are_workers() -> None:
    """Requests are taken one at a time, and never more of them than workers are free."""
    gate = threading.Barrier(3, timeout=30)
    taken: list[int] = []

    def requests() -> Iterator[str]:
        for place in range(6):
            taken.append(place)
            yield f"why {place}?"

    def body() -> str:
        gate.wait()
        return "a"

    results = run_many(_harness(body=body), requests(), workers=3)
    next(results)
    assert taken == [0, 1, 2]
    assert len(list(results)) == 5


def test_results_come_as_they_finish() -> None:
    """A quick run is given before a slow one that was started earlier."""
    go = threading.Event()

    def agent(view: AgentView) -> Any:
        if view.question == "slow":
            go.wait(30)
        return asking(["logs"])(view)

    results = run_many(_harness(agent), ["slow", "quick"], workers=2)
    assert next(results).request == "quick"
    go.set()
    assert next(results).request == "slow"


def test_all_draw_from_one_budget() -> None:
    """Runs that find the parent budget empty end as such, and call nobody."""
    budget = Budget(tool_calls=9, model_attempts=6)
    causes = [
        many.result.record.stop_cause.name
        for many in run_many(_harness(), _questions(4), workers=1, budget=budget)
        if many.result and many.result.record.stop_cause
    ]
    assert causes == ["REPORT_APPROVED", "REPORT_APPROVED", "BUDGET_EXHAUSTED", "BUDGET_EXHAUSTED"]
    assert budget.used.model_attempts == 6


def test_the_switch_stops_everything() -> None:
    """What is under way is cancelled with the switch's reason, and nothing more is started."""
    stop, gate = CancelToken(), threading.Barrier(2, timeout=30)

    def body() -> str:
        if gate.wait() == 0:
            stop.cancel("enough")
        gate.wait()
        return "a"

    results = list(run_many(_harness(body=body), _questions(9), workers=2, stop=stop))
    assert len(results) == 2
    assert {many.result.record.cancel_reason for many in results if many.result} == {"enough"}


def test_a_switch_that_is_off_already() -> None:
    """With a cancelled token nothing is run."""
    stop = CancelToken()
    stop.cancel()
    assert list(run_many(_harness(), _questions(9), stop=stop)) == []


def test_leaving_early_cancels_the_others() -> None:
    """A consumer that stops iterating leaves no thread, and a stop switch that still works."""
    stop, go = CancelToken(), threading.Event()

    def agent(view: AgentView) -> Any:
        if view.question == "why 1?":
            go.wait(30)
        return asking(["logs"])(view)

    results = run_many(_harness(agent), _questions(9), workers=2, stop=stop)
    assert next(results).place == 0
    go.set()
    results.close()
    assert not [t for t in threading.enumerate() if t.name.startswith("harness")]
    assert stop.cancel() is False


def test_a_refused_request_does_not_stop_the_others() -> None:
    """A request that cannot be run is given back with the error that says why."""
    requests: list[Any] = ["why?", 3, "why not?"]
    results = sorted(run_many(_harness(), requests), key=lambda many: many.place)
    assert [many.error is None for many in results] == [True, False, True]
    assert results[1].result is None


def test_an_interrupt_comes_out() -> None:
    """What a host raises that is no ``Exception`` ends the batch."""

    def body() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(run_many(_harness(body=body), _questions(9), workers=2))


def test_an_iterable_that_raises_comes_out() -> None:
    """What the requests themselves raise is the caller's, after what runs was cancelled."""

    def requests() -> Iterator[str]:
        yield "why?"
        raise LookupError

    with pytest.raises(LookupError):
        list(run_many(_harness(), requests(), workers=1))


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("harness", AsyncHarness(asking())),
        ("harness", None),
        ("requests", "why?"),
        ("requests", Request("why?")),
        ("requests", 3),
        ("workers", 0),
        ("workers", True),
        ("workers", 1.5),
        ("budget", 3),
        ("stop", "now"),
    ],
)
def test_wrong_arguments_are_refused_at_once(name: str, wrong: object) -> None:
    """A wrong argument is named when the batch is asked for, not when it is iterated."""
    given: dict[str, Any] = {"harness": _harness(), "requests": [], name: wrong}
    with pytest.raises(InvalidArgumentError, match=f"^{name} is "):
        run_many(**given)


def test_nothing_to_do() -> None:
    """No request, no result."""
    assert list(run_many(_harness(), [])) == []
    assert ManyResult(0, "why?").result is None
