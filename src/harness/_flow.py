"""
The failure graph, written once (section 3).

::

    request -> route -> [agent turn -> tool batch]* -> draft -> evidence guard (one repair)
            -> semantic guard -> release decision -> save the run record -> publish

Synchronous, asynchronous, replayed, fault-injected and durable runs all execute this coroutine;
the seam is its only way out, and it never suspends by itself.
"""

from __future__ import annotations

from functools import partial

from harness._attempt import retried
from harness._collecting import collected
from harness._gating import gated
from harness._json import clean_text, measure
from harness._publish import open_run, publish, send_status
from harness._records import RunRecord
from harness._run import Run, Stopped
from harness._seam import Failure, SeamBroken
from harness._states import Component, Intent, StopCause, TraceCode
from harness._values import Route
from harness._windup import wind_up
from harness.errors import MalformedOutputError

__all__ = ["run_flow"]


async def run_flow(run: Run) -> RunRecord:
    """
    Execute one run from its request to its published ending.

    Args:
        run: A fresh run.

    Returns:
        The record that stands. An exception of a host that is no ``Exception`` is left in
        ``run.interrupt`` for the driver to raise.

    Raises:
        RunExistsError: The run store has a run of that id; nothing was run.
    """
    await open_run(run)
    try:
        run.check()
        run.stop(await diagnose(run))
    except Stopped:
        pass
    except Exception as error:  # noqa: BLE001  fail closed on the harness's own faults
        run.note(TraceCode.INTERNAL_FAULT, error=type(error).__name__, detail=_shown(error))
        run.stop(StopCause.INTERNAL_ERROR)
    except SeamBroken:
        # nobody is left to end the run with
        raise
    except BaseException as interrupt:
        # it came between two calls outside, or out of the clock, the backoff or an id source
        if isinstance(interrupt, GeneratorExit) and _is_closing(run):
            raise
        run.interrupted(interrupt)
    record = await publish(run, await wind_up(run))
    run.seam.end(record)
    return record


def _is_closing(run: Run) -> bool:
    """
    Whether this coroutine is being closed, and no host raised; a seam that cannot tell, may be.
    """
    told: bool = getattr(run.seam, "is_closing", True)
    return told


def _shown(error: Exception) -> str:
    try:
        return clean_text(str(error)[:500])
    except Exception:  # noqa: BLE001  a broken __str__ must not hide the fault
        return ""


async def diagnose(run: Run) -> StopCause:
    """
    The steps of the graph, in order; each raises ``Stopped`` where it ends the run.
    """
    route = await routed(run)
    run.intent = route.intent
    run.missing_context = missing_context(run, route)
    if run.missing_context:
        return StopCause.MISSING_REQUIRED_CONTEXT
    if route.intent is Intent.GENERAL:
        return await replied(run)
    run.evidence_prefix = f"E-{clean_text(run.seam.new_id())}-"
    draft = await collected(run)
    return await gated(run, draft)


# --- routing and required context (section 3.4)


async def routed(run: Run) -> Route:
    """
    Route the request; without a router every request is a diagnosis.
    """
    router = run.setup.router
    if router is None:
        return Route(Intent.DIAGNOSIS)
    await send_status(run, "ROUTING")
    accept = partial(_route, may_reply=run.setup.responder is not None)
    route = await retried(run, Component.INTENT_ROUTER, router, run.request, accept)
    if isinstance(route, Failure):
        raise run.stop(StopCause.ROUTER_UNAVAILABLE)
    return route


def _route(value: object, *, may_reply: bool) -> Route:
    if type(value) is not Route:
        raise MalformedOutputError("route", value, "a Route")
    if value.intent is Intent.GENERAL and not may_reply:
        raise MalformedOutputError("Route.intent", value.intent, "DIAGNOSIS without a responder")
    return value


async def replied(run: Run) -> StopCause:
    """
    Answer a general request: one attempt, never a checked report.
    """
    responder = run.setup.responder
    if responder is None:  # pragma: no cover  _route refuses GENERAL without a responder
        raise run.stop(StopCause.INTERNAL_ERROR)
    await send_status(run, "REPLYING")
    reply = await retried(run, Component.RESPONDER, responder, run.request, _reply)
    if isinstance(reply, Failure):
        raise run.stop(StopCause.RESPONDER_UNAVAILABLE)
    limit = run.setup.limits.result_bytes
    if limit is not None and measure(reply, limit) > limit:
        raise run.stop(StopCause.RESULT_TOO_LARGE)
    run.reply = reply
    return StopCause.REPLY_GIVEN


def _reply(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise MalformedOutputError("reply", value, "text that is not blank")
    return clean_text(value)


def missing_context(run: Run, route: Route) -> tuple[str, ...]:
    """
    Name what is missing: the router's names, then the declared ones that are absent or blank.

    A general request needs none of the declared ones.
    """
    if route.intent is Intent.GENERAL:
        return route.missing_context
    context = run.request.context
    declared = [
        name for name in run.setup.required_context if not str(context.get(name, "")).strip()
    ]
    return tuple(dict.fromkeys((*route.missing_context, *declared)))
