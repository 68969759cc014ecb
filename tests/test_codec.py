"""Records to and from JSON: without loss, or with a clear error that says where."""

import json
import pickle
from collections.abc import Callable
from copy import deepcopy
from datetime import UTC, timedelta, timezone
from decimal import Decimal
from functools import reduce
from types import MappingProxyType
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from harness import (
    BudgetUse,
    CanonicalRecord,
    Fact,
    FallbackType,
    FrozenDict,
    Gates,
    Harness,
    Request,
    RunRecord,
    SemanticVerdict,
    StopCause,
    ToolCall,
    Trace,
    TraceCode,
)
from harness._canonical import digest_of
from harness._records import SCHEMA_VERSION, Attempts
from harness.codec import (
    canonical_from_data,
    canonical_from_json,
    canonical_to_data,
    canonical_to_json,
    record_from_data,
    record_from_json,
    record_to_data,
    record_to_json,
)
from harness.codec._versions import MISSING, migrated
from harness.errors import (
    InvalidArgumentError,
    RecordDecodeError,
    SchemaVersionError,
    UnknownMemberError,
)
from harness.testing._samples import (
    BEGAN,
    ODD_TEXT,
    sample_canonical,
    sample_endings,
    sample_evidence,
    sample_opening,
)

_RUNS = {"running": sample_opening("run-1", "c-1"), **sample_endings("run-1", "c-1")}
_EVIDENCE = {str(record.invocation.number): record for record in sample_evidence("run-1")}
_DATA = record_to_data(_RUNS["report"])

#: A step into data: a key, or an index.
Steps = tuple[Any, ...]


def _at(data: Any, steps: Steps) -> Any:
    """What stands at a place of data."""
    return reduce(lambda inner, step: inner[step], steps, data)


def _with(steps: Steps, value: object, name: str = "report") -> dict[str, Any]:
    """A record's data with another value at one place."""
    data = record_to_data(_RUNS[name])
    _at(data, steps[:-1])[steps[-1]] = value
    return data


def _without(steps: Steps) -> dict[str, Any]:
    """A record's data without one key."""
    data = deepcopy(_DATA)
    del _at(data, steps[:-1])[steps[-1]]
    return data


def _path(steps: Steps) -> str:
    """A place as errors name it."""
    parts = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps]
    return "".join(parts).removeprefix(".")


# --- there and back


@pytest.mark.parametrize("name", _RUNS)
def test_a_run_record_survives_byte_for_byte(name: str) -> None:
    """Record to text to record, and text to record to text, give the same again."""
    record = _RUNS[name]
    text = record_to_json(record)
    assert record_from_json(text) == record
    assert record_to_json(record_from_json(text)) == text


@pytest.mark.parametrize("name", _EVIDENCE)
def test_a_canonical_record_survives_byte_for_byte(name: str) -> None:
    """It comes back equal, and its content still has the digest that it carries."""
    record = _EVIDENCE[name]
    text = canonical_to_json(record)
    again = canonical_from_json(text)
    assert again == record
    assert digest_of(again) == record.invocation.digest
    assert canonical_to_json(again) == text


def test_the_record_of_a_real_run_survives() -> None:
    """What a harness wrote into a record of its own is read back equal, members as members."""
    harness = Harness(lambda _view: None, semantic_guard=lambda _case: SemanticVerdict.SUPPORTED)
    record = harness.run("Why?", context={"service": "payment"}).record
    again = record_from_json(record_to_json(record))
    assert again == record
    assert again.stop_cause is StopCause.INVALID_DRAFT
    assert again.trace.codes == record.trace.codes
    assert again.attempts.components == record.attempts.components


def test_times_of_attempts_do_not_drift() -> None:
    """An attempt's duration is the same float after any number of saves."""
    again = record_from_json(record_to_json(_RUNS["report"]))
    assert [one.seconds for one in again.attempts] == [0.30000000000000004 - 0.1, 1]
    assert again.attempts == _RUNS["report"].attempts


def test_the_text_has_one_form() -> None:
    """Keys are sorted, nothing is padded, and text stands as itself."""
    text = record_to_json(_RUNS["report"])
    assert text == json.dumps(
        json.loads(text), ensure_ascii=False, sort_keys=True, separators=(",", ":")
    )
    assert "\U0001f680" in text


def test_another_layout_is_read() -> None:
    """Indented text, and UTF-8 bytes, give the same record; nothing in it counts as unknown."""
    record = _RUNS["report"]
    indented = json.dumps(_DATA, indent=2)
    assert record_from_json(indented) == record
    assert record_from_json(indented.encode()) == record
    assert record_from_json(record_to_json(record).encode()).extra == {}
    evidence = _EVIDENCE["1"]
    assert canonical_from_json(json.dumps(canonical_to_data(evidence), indent=2)) == evidence


def test_a_call_with_refused_arguments_keeps_why() -> None:
    """Arguments that were no JSON stay refused, with the same reason."""
    record = _EVIDENCE["5"]
    again = canonical_from_json(canonical_to_json(record))
    assert again.invocation.call.refused == record.invocation.call.refused
    assert again.invocation.call.refused is not None


def test_a_reserved_fallback_type_of_old_records_loads() -> None:
    """``FallbackType.BUDGET_EXHAUSTED`` is read as that member."""
    text = record_to_json(_RUNS["budget exhausted"])
    assert record_from_json(text).fallback_type is FallbackType.BUDGET_EXHAUSTED


def test_plain_data_is_the_json_form() -> None:
    """Dictionaries, lists and scalars that the receiver may change, and that are read back."""
    data = record_to_data(_RUNS["report"])
    assert data["run_state"] == "SUCCESS"
    assert isinstance(data["invocations"], list)
    data["request"]["context"]["service"] = "changed"
    assert _RUNS["report"].request.context["service"] == "payment"
    assert record_from_data(_DATA) == _RUNS["report"]


def test_plain_data_of_a_canonical_record() -> None:
    """A canonical record goes through plain data likewise, and states its version."""
    record = _EVIDENCE["1"]
    data = canonical_to_data(record)
    assert data["schema_version"] == SCHEMA_VERSION
    assert data["facts"][1]["text"] == ODD_TEXT
    assert canonical_from_data(MappingProxyType(data)) == record


# --- unknown fields

_UNKNOWN: tuple[tuple[Steps, str], ...] = (
    (("surprise",), "surprise"),
    (("extra",), "extra"),
    (("a.b",), "a.b"),
    (("/a~b",), "/~1a~0b"),
    (("gates", "score"), "/gates/score"),
    (("gates", "draft", "claims", 0, "weight"), "/gates/draft/claims/0/weight"),
    (("invocations", 1, "call", "x/y~z"), "/invocations/1/call/x~1y~0z"),
    (("attempts", 0, "seconds"), "/attempts/0/seconds"),
    (("trace", 2, ""), "/trace/2/"),
)


@pytest.mark.parametrize(("steps", "key"), _UNKNOWN)
def test_an_unknown_field_is_kept_where_it_stood(steps: Steps, key: str) -> None:
    """Its key in ``extra`` says where, and the second save is byte-equal to the first."""
    value = {"nested": [1, 2.5, None, {"deep": "é"}]}
    text = json.dumps(_with(steps, value), ensure_ascii=False, sort_keys=True)
    record = record_from_json(text)
    assert dict(record.extra) == {key: FrozenDict({"nested": (1, 2.5, None, {"deep": "é"})})}
    saved = record_to_json(record)
    assert _at(json.loads(saved), steps) == value
    assert record_to_json(record_from_json(saved)) == saved


def test_several_unknown_fields_are_kept() -> None:
    """Each has a key of its own, and nothing else of the record changes."""
    data = deepcopy(_DATA)
    for steps, _key in _UNKNOWN:
        _at(data, steps[:-1])[steps[-1]] = True
    record = record_from_data(data)
    assert set(record.extra) == {key for _steps, key in _UNKNOWN}
    assert evolve(record, extra=FrozenDict()) == _RUNS["report"]
    assert record_to_data(record) == data


@pytest.mark.parametrize(
    "key", ["run_id", "/gates", "/gates/checks", "/nowhere/x", "/run_id/x", "/attempts/7/x"]
)
def test_a_field_that_cannot_be_put_back_is_refused(key: str) -> None:
    """A known field or a place that is not there is named, and nothing is written."""
    record = evolve(_RUNS["report"], extra=FrozenDict({key: 1}))
    with pytest.raises(InvalidArgumentError, match=f"extra is '{key}'; allowed:"):
        record_to_json(record)


@pytest.mark.parametrize("key", ["/request/context/x", "/attempts/first/x", "/attempts/-1"])
def test_a_field_in_a_free_mapping_or_list_is_refused(key: str) -> None:
    """What a host put into its own mapping cannot be added to from outside."""
    record = evolve(_RUNS["report"], extra=FrozenDict({key: 1}))
    with pytest.raises(InvalidArgumentError, match="JSON pointer"):
        record_to_json(record)


@pytest.mark.parametrize("steps", [("surprise",), ("invocation", "x"), ("facts", 0, "x")])
def test_a_canonical_record_refuses_unknown_fields(steps: Steps) -> None:
    """It has no room for them, so the error names the first."""
    data = canonical_to_data(_EVIDENCE["1"])
    _at(data, steps[:-1])[steps[-1]] = 1
    with pytest.raises(RecordDecodeError) as caught:
        canonical_from_data(data)
    assert caught.value.path == _path(steps)
    assert caught.value.allowed == "no field of that name"


# --- values that are no values

_MEMBERS: tuple[Steps, ...] = (
    ("run_state",),
    ("stop_cause",),
    ("intent",),
    ("collection_state",),
    ("release_outcome",),
    ("events", 1),
    ("gates", "verdict"),
    ("public", "kind"),
    ("public", "limitations", 0, "kind"),
    ("public", "limitations", 0, "code"),
    ("invocations", 0, "status"),
    ("invocations", 0, "evidence_status"),
    ("attempts", 1, "component"),
    ("attempts", 1, "outcome"),
    ("attempts", 1, "failure"),
    ("attempts", 1, "usage"),
    ("trace", 3, "code"),
)


@pytest.mark.parametrize("steps", _MEMBERS)
@pytest.mark.parametrize("change", [str.lower, "{} ".format, "FOO".format])
def test_an_unknown_member_is_named(steps: Steps, change: Callable[[str], str]) -> None:
    """Neither folded nor trimmed nor guessed: the error names path, value and the members."""
    value = change(_at(_DATA, steps))
    with pytest.raises(UnknownMemberError) as caught:
        record_from_data(_with(steps, value))
    assert (caught.value.path, caught.value.value) == (_path(steps), value)
    assert _at(_DATA, steps) in caught.value.allowed.split()


_WRONG: tuple[tuple[Steps, object], ...] = (
    (("run_id",), 7),
    (("run_id",), None),
    (("request",), []),
    (("request",), "text"),
    (("request", "question"), "  "),
    (("request", "question"), None),
    (("request", "context"), []),
    (("request", "context"), {"service": 1}),
    (("request", "previous"), "text"),
    (("request", "previous"), {}),
    (("request", "previous", 0), "text"),
    (("request", "previous", 0, "report"), 1),
    (("request", "conversation_id"), ""),
    (("run_state",), 1),
    (("run_state",), None),
    (("missing_context",), "service"),
    (("missing_context",), [1]),
    (("gates",), None),
    (("gates", "checks"), True),
    (("gates", "checks"), 1.0),
    (("gates", "checks"), "1"),
    (("gates", "repaired"), 0),
    (("gates", "draft", "claims", 0, "text"), " "),
    (("gates", "draft", "conclusion"), " "),
    (("gates", "draft", "missing_context"), ["a", "a"]),
    (("gates", "draft", "citations", 0, "fact_id"), "1"),
    (("invocations", 0, "call", "tool"), ""),
    (("invocations", 0, "call", "refused"), 1),
    (("invocations", 0, "call", "scope"), None),
    (("invocations", 0, "call", "arguments"), "{}"),
    (("invocations", 3, "cut", "kept_facts"), None),
    (("attempts",), {}),
    (("attempts", 0), None),
    (("attempts", 0, "began"), "0"),
    (("attempts", 0, "ended"), True),
    (("attempts", 0, "cost"), 1),
    (("attempts", 0, "cost"), "one"),
    (("attempts", 0, "cost"), "NaN"),
    (("attempts", 0, "cost"), "1e5"),
    (("used", "cost"), "Infinity"),
    (("used", "tokens"), None),
    (("limits", "deadline"), -1),
    (("limits", "deadline"), "300"),
    (("limits", "tool_calls"), -1),
    (("limits", "cost"), "-1"),
    (("trace", 0, "at"), None),
    (("trace", 0, "detail"), []),
    (("record_saved",), "true"),
    (("started_at",), 1767225600),
    (("started_at",), None),
    (("started_at",), "yesterday"),
    (("started_at",), "2026-01-31"),
    (("started_at",), "2026-01-31T23:59:58"),
    (("started_at",), "2026-01-31T23:59:58.000005Z"),
    (("started_at",), "2026-02-01T01:59:58.000005+02:00"),
    (("ended_at",), "2026-01-31T23:59:58"),
    (("schema_version",), "1"),
    (("schema_version",), True),
    (("schema_version",), None),
    (("schema_version",), 0),
    (("schema_version",), -1),
)


@pytest.mark.parametrize(("steps", "value"), _WRONG)
def test_a_wrong_value_is_named_with_its_place(steps: Steps, value: object) -> None:
    """The error gives the path, the value and what is allowed there; nothing is coerced."""
    with pytest.raises(RecordDecodeError) as caught:
        record_from_data(_with(steps, value))
    assert not isinstance(caught.value, UnknownMemberError)
    assert caught.value.path.startswith(_path(steps))
    assert str(caught.value).startswith(f"{caught.value.path} is ")


_ILLEGAL: tuple[tuple[Steps, object, str], ...] = (
    (("run_state",), "CANCELLED", "record"),
    (("run_state",), "RUNNING", "record"),
    (("stop_cause",), None, "stop_cause"),
    (("fallback_type",), "INSUFFICIENT_EVIDENCE", "fallback_type"),
    (("invocations", 0, "evidence_status"), "ERROR", "invocations[0]"),
    (("invocations", 0, "code"), "TIMEOUT", "invocations[0].code"),
)


@pytest.mark.parametrize(("steps", "value", "path"), _ILLEGAL)
def test_an_illegal_combination_is_refused(steps: Steps, value: object, path: str) -> None:
    """A stored record that breaks an invariant is no record."""
    with pytest.raises(RecordDecodeError) as caught:
        record_from_data(_with(steps, value))
    assert caught.value.path == path


_REQUIRED: tuple[Steps, ...] = (
    ("run_id",),
    ("request",),
    ("started_at",),
    ("schema_version",),
    ("request", "question"),
    ("request", "previous", 0, "report"),
    ("gates", "draft", "claims", 0, "text"),
    ("invocations", 2, "status"),
    ("attempts", 1, "ended"),
    ("trace", 1, "at"),
)


@pytest.mark.parametrize("steps", _REQUIRED)
def test_a_missing_required_key_is_named(steps: Steps) -> None:
    """The error says which key is missing, and where."""
    with pytest.raises(RecordDecodeError) as caught:
        record_from_data(_without(steps))
    assert (caught.value.path, caught.value.value) == (_path(steps), MISSING)
    assert str(caught.value).startswith(f"{_path(steps)} is missing; allowed:")


@pytest.mark.parametrize("name", ["gates", "used", "trace", "attempts", "events", "delivered"])
def test_a_missing_optional_key_has_its_default(name: str) -> None:
    """The record is read, and the second save states the default."""
    record = record_from_data(_without((name,)))
    defaults = {"gates": Gates(), "used": BudgetUse(), "trace": Trace(), "attempts": Attempts()}
    assert getattr(record, name) == defaults.get(name, () if name == "events" else False)
    assert name in record_to_data(record)


# --- versions


def test_a_later_version_is_refused() -> None:
    """A record of a later release gives an error of its own type that says what is read."""
    with pytest.raises(SchemaVersionError, match="schema version is 99, of a later release"):
        record_from_data(_with(("schema_version",), 99))
    with pytest.raises(SchemaVersionError, match="allowed: 1 to 1"):
        canonical_from_data({**canonical_to_data(_EVIDENCE["1"]), "schema_version": 2})


def test_an_earlier_version_goes_through_every_step() -> None:
    """A record is brought up to date one step a version, in order, from the version it states."""
    steps = {
        version: lambda data, step=version: {**data, "seen": [*data["seen"], step]}
        for version in (1, 2, 3)
    }
    assert migrated({"schema_version": 2, "seen": []}, steps, 4) == {
        "schema_version": 4,
        "seen": [2, 3],
    }


def _renamed(data: dict[str, Any]) -> dict[str, Any]:
    """A step to a version that calls a run's id by another name."""
    return {"run_id" if key == "id" else key: value for key, value in data.items()}


def test_a_migrated_record_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that renames a field makes an earlier record readable, unknown fields included."""
    data = {**_DATA, "id": _DATA["run_id"], "surprise": 1}
    del data["run_id"]
    monkeypatch.setattr("harness.codec.migrated", lambda data, _steps: _renamed(data))
    record = record_from_data(data)
    assert evolve(record, extra=FrozenDict()) == _RUNS["report"]
    assert dict(record.extra) == {"surprise": 1}


def test_only_the_current_version_is_written() -> None:
    """A record that claims another version is not written as if it were one."""
    with pytest.raises(InvalidArgumentError, match="schema_version is 7; allowed: 1"):
        record_to_json(evolve(_RUNS["report"], schema_version=7))


# --- hostile text

_DEEP = 100_000
_HOSTILE: tuple[str | bytes, ...] = (
    "",
    "nonsense",
    "null",
    "[]",
    '"text"',
    "{",
    "{} {}",
    '{"schema_version": 1}',
    '{"schema_version": NaN}',
    '{"schema_version": 1, "schema_version": 1}',
    '{"schema_version": ' + "9" * 5000 + "}",
    "[" * _DEEP,
    '{"a":' * _DEEP,
    "\ufeff{}",
    b"\xff\xfe",
    b"{\x00}",
)


@pytest.mark.parametrize("text", _HOSTILE, ids=lambda text: repr(text[:20]))
@pytest.mark.parametrize("read", [record_from_json, canonical_from_json])
def test_hostile_text_gives_a_decode_error(
    read: Callable[[str | bytes], object], text: str | bytes
) -> None:
    """Whatever the text, the error is typed, and its own text stays short."""
    with pytest.raises(RecordDecodeError) as caught:
        read(text)
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
@pytest.mark.parametrize("place", ['"began":0.1', '"window":["10:00","10:05"]', '"left_out":3'])
def test_no_number_that_is_none(place: str, number: str) -> None:
    """Neither constants nor overflowing literals become numbers, wherever they stand."""
    text = record_to_json(evolve(_RUNS["report"], snapshot=_RUNS["evidence rejected"].snapshot))
    hostile = text.replace(place, f"{place.partition(':')[0]}:{number}", 1)
    assert hostile != text
    with pytest.raises(RecordDecodeError):
        record_from_json(hostile)


@pytest.mark.parametrize("place", ["surprise", "detail", "arguments"])
def test_nesting_is_bounded(place: str) -> None:
    """A value that nests deeper than any result may is refused, also where it is unknown."""
    text = record_to_json(_RUNS["report"])
    deep = "[" * 200 + "]" * 200
    changed = {
        "surprise": text.replace('"attempts":', f'"surprise":{deep},"attempts":', 1),
        "detail": text.replace('"detail":{', f'"detail":{{"x":{deep},', 1),
        "arguments": text.replace('"arguments":{', f'"arguments":{{"x":{deep},', 1),
    }
    with pytest.raises(RecordDecodeError, match="nested deeper than 64"):
        record_from_json(changed[place])


@pytest.mark.parametrize("half", ["\\ud800", "\\uDFFF", "\ud800"])
@pytest.mark.parametrize("place", ['"question":"', '"text":"', '"service":"', '{"'])
def test_a_lone_surrogate_is_refused(place: str, half: str) -> None:
    """Text that UTF-8 cannot encode is not repaired unseen; it was never written here."""
    text = record_to_json(_RUNS["report"]).replace(place, place + half, 1)
    with pytest.raises(RecordDecodeError, match="surrogates not allowed"):
        record_from_json(text)


def test_an_escaped_character_is_read() -> None:
    """A pair of escapes that other writers prefer is the character, and is written as itself."""
    text = json.dumps(_DATA)
    assert "\\ud83d\\ude80" in text
    assert record_from_json(text) == _RUNS["report"]


@pytest.mark.parametrize("argument", [None, 1, {}, ["{}"]])
def test_only_text_is_read_as_text(argument: Any) -> None:
    """An argument of another type is named as such."""
    with pytest.raises(InvalidArgumentError, match="; allowed: text, or bytes"):
        record_from_json(argument)


_CYCLE: dict[str, Any] = {}
_CYCLE["self"] = _CYCLE


@pytest.mark.parametrize(
    "data", [None, [], "{}", {1: 2}, {"a": {1, 2}}, {"a": float("nan")}, {"a": 10**5000}, _CYCLE]
)
def test_only_strict_plain_data_is_read(data: Any) -> None:
    """What JSON cannot hold is refused before it is looked at."""
    for read in (record_from_data, canonical_from_data):
        with pytest.raises(RecordDecodeError):
            read(data)


# --- what cannot be written

_ANYTHING: Any = object()
_UNFIT: dict[str, Callable[[], RunRecord]] = {
    "a surrogate": lambda: evolve(_RUNS["report"], run_id="\ud800"),
    "an object": lambda: evolve(_RUNS["report"], cancel_reason=_ANYTHING),
    "a NaN": lambda: evolve(_RUNS["report"], trace=Trace([(TraceCode.RUN_ENDED, float("nan"))])),
    "a NaN cost": lambda: evolve(_RUNS["report"], used=BudgetUse(cost=Decimal("NaN"))),
    "a huge number": lambda: evolve(_RUNS["report"], used=BudgetUse(tokens=10**5000)),
}


@pytest.mark.parametrize("name", _UNFIT)
def test_what_json_cannot_hold_is_not_written(name: str) -> None:
    """The error names what is wrong with the record, and nothing is written."""
    with pytest.raises(InvalidArgumentError, match="allowed: "):
        record_to_json(_UNFIT[name]())


@pytest.mark.parametrize("write", [record_to_json, canonical_to_json])
@pytest.mark.parametrize("value", [None, {}, Fact("text")])
def test_only_records_are_written(write: Callable[[Any], str], value: object) -> None:
    """Something else is named with what is allowed."""
    with pytest.raises(InvalidArgumentError, match=r"; allowed: a \w+Record"):
        write(value)


def test_evidence_that_utf8_cannot_encode_is_not_written() -> None:
    """A fact that did not come through a projection is refused, never altered."""
    record = CanonicalRecord(_EVIDENCE["1"].invocation, (Fact("\udc80"),))
    with pytest.raises(InvalidArgumentError, match="text that UTF-8 can encode"):
        canonical_to_json(record)


def test_a_time_zone_that_is_utc_by_another_name_is_written_as_utc() -> None:
    """Only the offset counts, so the record comes back equal."""
    zone = timezone(timedelta(0), "Zulu")
    record = evolve(_RUNS["report"], started_at=BEGAN.astimezone(zone))
    again = record_from_json(record_to_json(record))
    assert again == record
    assert again.started_at.tzinfo is UTC


def test_decode_errors_pickle() -> None:
    """An error crosses a process with its path, value and what is allowed."""
    for error in (
        RecordDecodeError("a.b", MISSING, "a value"),
        UnknownMemberError("run_state", "FOO", "RUNNING"),
    ):
        again = pickle.loads(pickle.dumps(error))  # noqa: S301  pickled in the line itself
        assert type(again) is type(error)
        assert (again.path, again.value, again.allowed) == (error.path, error.value, error.allowed)


# --- properties

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


def _places(data: Any, steps: Steps = ()) -> list[Steps]:
    """Every place of some data."""
    inner = dict(enumerate(data)) if isinstance(data, list) else data
    found = [steps] if steps else []
    for step, value in inner.items() if isinstance(inner, dict) else ():
        found += _places(value, (*steps, step))
    return found


def _holds(written: Any, given: Any) -> bool:
    """Whether everything that was given is written; defaults may stand beside it."""
    if isinstance(given, dict) and isinstance(written, dict):
        return all(key in written and _holds(written[key], given[key]) for key in given)
    if isinstance(given, list) and isinstance(written, list) and len(given) == len(written):
        return all(map(_holds, written, given))
    return bool(given == written)


@given(st.sampled_from(sorted(_RUNS)), st.data())
def test_a_changed_record_is_read_whole_or_refused(name: str, draw: st.DataObject) -> None:
    """Any value at any place: a record that saves stably and loses nothing, or a typed error."""
    data = record_to_data(_RUNS[name])
    steps = draw.draw(st.sampled_from(_places(data)))
    _at(data, steps[:-1])[steps[-1]] = draw.draw(_JSON)
    text = json.dumps(data)
    try:
        saved = record_to_json(record_from_json(text))
    except (RecordDecodeError, SchemaVersionError):
        return
    assert _holds(json.loads(saved), data)
    assert record_to_json(record_from_json(saved)) == saved


@given(st.text() | st.binary() | _JSON.map(json.dumps))
def test_any_text_is_a_record_or_a_typed_error(text: str | bytes) -> None:
    """No text makes the reader raise anything else."""
    with pytest.raises((RecordDecodeError, SchemaVersionError)):
        record_from_json(text)


@given(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.dictionaries(st.text(), st.recursive(st.integers() | st.floats(allow_nan=False), st.lists)),
)
def test_any_evidence_survives(text: str, arguments: dict[str, Any]) -> None:
    """Facts and arguments of any content come back equal, with their digest."""
    call = ToolCall("logs", None, arguments)
    invocation = evolve(_EVIDENCE["1"].invocation, call=call)
    record = CanonicalRecord(invocation, (Fact(text, text),))
    again = canonical_from_json(canonical_to_json(record))
    assert again == record
    assert digest_of(again) == digest_of(record)


def test_a_request_survives_whatever_its_order() -> None:
    """The order of a context's keys is no content."""
    request = Request("Why?", {"z": "1", "a": "2"})
    record = RunRecord(run_id="run-1", request=request, started_at=BEGAN)
    assert record_from_json(record_to_json(record)) == record


def test_records_of_one_content_have_one_text() -> None:
    """Two records that are equal are written alike, wherever they came from."""
    fresh = sample_canonical("run-1", texts=(ODD_TEXT,))
    loaded = canonical_from_json(canonical_to_json(fresh))
    assert canonical_to_json(loaded) == canonical_to_json(fresh)
    report = _RUNS["report"]
    assert record_to_json(evolve(report, trace=Trace(report.trace._raw))) == record_to_json(report)
