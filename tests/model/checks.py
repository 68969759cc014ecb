"""Whether a scenario is well formed: types, keys and forms, before anything is simulated."""

import builtins
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from tests.model.vocabulary import COMPONENTS, COUNTS, EVENTS, FORMS, KEYS, KINDS, OBSERVED, Json


class MalformedScenario(ValueError):  # noqa: N818  # The name that the format's readers know.
    """A scenario that the format refuses; the text names the key and the reason."""


def _need(ok: bool, where: str, what: str) -> None:
    if not ok:
        raise MalformedScenario(f"{where}: {what}")


def _object(value: object, where: str, keys: frozenset[str] | None = None) -> Json:
    _need(isinstance(value, dict), where, "must be an object")
    assert isinstance(value, dict)
    if keys is not None:
        unknown = sorted(set(value) - keys)
        _need(not unknown, where, f"unknown keys {unknown}")
    return value


def _list(value: object, where: str) -> list[Any]:
    _need(isinstance(value, list), where, "must be a list")
    assert isinstance(value, list)
    return value


def _texts(value: object, where: str) -> None:
    _need(all(isinstance(item, str) for item in _list(value, where)), where, "must hold strings")


def _text(value: object, where: str) -> None:
    _need(isinstance(value, str), where, "must be a string")


def _count(value: object, where: str) -> None:
    _need(
        isinstance(value, int) and not isinstance(value, bool) and value >= 0,
        where,
        "must be a non-negative whole number",
    )


def _bool(value: object, where: str) -> None:
    _need(isinstance(value, bool), where, "must be true or false")


def _one_of(*allowed: str) -> Callable[[object, str], None]:
    def check(value: object, where: str) -> None:
        _need(isinstance(value, str) and value in allowed, where, f"must be one of {allowed}")

    return check


def _citation(value: object, where: str) -> None:
    item = _object(value, where, frozenset({"invocation", "fact", "quote"}))
    _text(item.get("invocation"), f"{where}.invocation")
    fact = item.get("fact", 1)
    _need(isinstance(fact, int) and not isinstance(fact, bool), f"{where}.fact", "must be a number")
    _text(item.get("quote", ""), f"{where}.quote")


def _draft(value: object, where: str) -> None:
    keys = frozenset({"conclusion", "citations", "claims", "recommendations", "missing_context"})
    draft = _object(value, where, keys)
    _need("conclusion" in draft, where, "conclusion is required")
    conclusion = draft["conclusion"]
    _need(conclusion is None or isinstance(conclusion, str), f"{where}.conclusion", "text or null")
    for item in _list(draft.get("citations", []), f"{where}.citations"):
        _citation(item, f"{where}.citations")
    for item in _list(draft.get("claims", []), f"{where}.claims"):
        claim = _object(item, f"{where}.claims", frozenset({"text", "citations"}))
        _text(claim.get("text"), f"{where}.claims.text")
        for citation in _list(claim.get("citations", []), f"{where}.claims.citations"):
            _citation(citation, f"{where}.claims.citations")
    _texts(draft.get("recommendations", []), f"{where}.recommendations")
    _texts(draft.get("missing_context", []), f"{where}.missing_context")


def _progress(value: object, where: str) -> None:
    state = _object(value, where).get("state")
    _one_of("GAINED", "NO_GAIN")(state, f"{where}.state")
    keys = frozenset({"state", "facts"} if state == "GAINED" else {"state"})
    _texts(_object(value, where, keys).get("facts", []), f"{where}.facts")


def _calls(value: object, where: str) -> None:
    for item in _list(value, where):
        call = _object(item, where, frozenset({"tool", "scope", "arguments"}))
        _text(call.get("tool"), f"{where}.tool")
        _object(call.get("scope", {}), f"{where}.scope")
        _object(call.get("arguments", {}), f"{where}.arguments")


def _facts(value: object, where: str) -> None:
    for item in _list(value, where):
        if isinstance(item, str):
            continue
        fact = _object(item, where, frozenset({"text", "source"}))
        _text(fact.get("text"), f"{where}.text")
        _text(fact.get("source", ""), f"{where}.source")


def _action(component: str, step: Json, where: str) -> None:
    """Check the one thing that a step does."""
    own = FORMS[component]
    acts = [key for key in ("fail", "raise", "malformed") if key in step]
    given = own & set(step)
    _need(len(acts) + bool(given) <= 1, where, "does more than one thing")
    if acts:
        return
    _need(bool(given) or component == "agent", where, "does nothing")
    checks: dict[str, Callable[[object, str], None]] = {
        "intent": _one_of("DIAGNOSIS", "GENERAL"),
        "missing_context": _texts,
        "reply": _text,
        "calls": _calls,
        "progress": _progress,
        "draft": _draft,
        "verdict": _one_of("SUPPORTED", "UNSUPPORTED"),
        "facts": _facts,
        "raw_size": _count,
        "projection_fails": lambda value, at: _need(value is True, at, "must be true"),
        "raw": lambda _value, _at: None,
    }
    for key in given:
        checks[key](step[key], f"{where}.{key}")
    if component == "router":
        _need("intent" in step, where, "intent is required")
    if component == "tool":
        _need(len(given - {"facts"}) <= 1, where, "does more than one thing")
        _need("raw" not in given or "facts" in given, where, "raw needs facts")
        _need("projection_fails" not in given or len(given) == 1, where, "needs nothing else")


def _step(component: str, value: object, where: str, *, last: bool) -> None:
    shared = {"takes_ms", "repeat", "fail", "raise", "malformed"}
    if component != "tool":
        shared.add("usage")
    step = _object(value, where)
    keys = FORMS[component] | shared | ({"message"} if "raise" in step else set())
    _object(step, where, frozenset(keys))
    _count(step.get("takes_ms", 0), f"{where}.takes_ms")
    _bool(step.get("repeat", False), f"{where}.repeat")
    _need(last or not step.get("repeat"), f"{where}.repeat", "stands on the last step only")
    if isinstance(step.get("usage"), dict):
        keys = frozenset({"input_tokens", "output_tokens", "cost"})
        _object(step["usage"], f"{where}.usage", keys)
    if "fail" in step:
        _one_of(*sorted(KINDS))(step["fail"], f"{where}.fail")
    if "raise" in step:
        known = getattr(builtins, str(step["raise"]), None)
        ok = isinstance(known, type) and issubclass(known, BaseException)
        _need(ok, f"{where}.raise", "must name a builtin exception")
        _text(step.get("message", ""), f"{where}.message")
    _action(component, step, where)


def _steps(component: str, value: object, where: str) -> None:
    steps = _list(value, where)
    for number, step in enumerate(steps, 1):
        _step(component, step, f"{where}[{number}]", last=number == len(steps))


def _limits(value: object) -> None:
    limits = _object(value, "limits", COUNTS | {"cost"})
    for key, limit in limits.items():
        if limit is None:
            continue
        if key != "cost":
            _count(limit, f"limits.{key}")
            continue
        _text(limit, "limits.cost")
        try:
            cost = Decimal(limit)
        except InvalidOperation:
            cost = Decimal(-1)
        _need(cost.is_finite() and cost >= 0, "limits.cost", "must be a non-negative decimal")


def _during(value: object, where: str) -> None:
    during = _object(value, where, frozenset({"during"})).get("during")
    _text(during, f"{where}.during")
    component, _, number = str(during).partition(":")
    _need(component in COMPONENTS, f"{where}.during", "unknown component")
    _need(number.isdecimal() and int(number) >= 1, f"{where}.during", "needs a number from 1")


def _stores(scenario: Json) -> None:
    store = _object(
        scenario.get("canonical_store", {}), "canonical_store", frozenset({"save", "load"})
    )
    allowed = {"save": ("raise",), "load": ("raise", "missing", "corrupt")}
    for operation, faults in store.items():
        for number, fault in _object(faults, f"canonical_store.{operation}").items():
            where = f"canonical_store.{operation}.{number}"
            _need(number.isdecimal() and int(number) >= 1, where, "must be numbered from 1")
            _one_of(*allowed[operation])(fault, where)
    runs = _object(scenario.get("run_store", {}), "run_store", frozenset({"begin", "finish"}))
    _one_of("raise")(runs.get("begin", "raise"), "run_store.begin")
    _one_of("raise", "lost")(runs.get("finish", "raise"), "run_store.finish")


def _world(scenario: Json) -> None:
    for component in COMPONENTS:
        if component != "tool" and component in scenario:
            _steps(component, scenario[component], component)
    for tool, steps in _object(scenario.get("tools", {}), "tools").items():
        _steps("tool", steps, f"tools.{tool}")
    for tool, accepted in _object(scenario.get("tool_parameters", {}), "tool_parameters").items():
        for name, kind in _object(accepted, f"tool_parameters.{tool}").items():
            _one_of("str", "int", "float", "bool")(kind, f"tool_parameters.{tool}.{name}")
    _stores(scenario)
    _one_of("CANCEL", "DETACH")(scenario.get("on_disconnect", "CANCEL"), "on_disconnect")
    client = _object(scenario.get("client", {}), "client", frozenset({"disconnects_at"}))
    _one_of(*EVENTS)(client.get("disconnects_at", "DONE"), "client.disconnects_at")
    for key in ("cancel", "interrupt"):
        if key in scenario:
            _during(scenario[key], key)


def check(value: object) -> Json:
    """Return the scenario if it is well formed, else raise :class:`MalformedScenario`."""
    scenario = _object(value, "scenario", KEYS)
    _text(scenario.get("name"), "name")
    request = _object(scenario.get("request", {}), "request", frozenset({"question", "context"}))
    _text(request.get("question", ""), "request.question")
    for name, given in _object(request.get("context", {}), "request.context").items():
        _text(given, f"request.context.{name}")
    _texts(scenario.get("required_context", []), "required_context")
    _limits(scenario.get("limits", {}))
    _one_of("REPORTED", "INFERRED")(scenario.get("progress", "REPORTED"), "progress")
    _bool(scenario.get("distinguish_budget", False), "distinguish_budget")
    _world(scenario)
    _object(scenario.get("expect", {}), "expect", OBSERVED)
    return scenario
