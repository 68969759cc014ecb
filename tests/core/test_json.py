"""Strict JSON as values: frozen on arrival, measured without being encoded whole (section 3.5)."""

from __future__ import annotations

import copy
import json
import pickle
from collections import OrderedDict, UserDict
from enum import IntEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import FrozenDict
from harness._json import (
    MAX_DEPTH,
    NotJsonError,
    canonical,
    clean_text,
    freeze,
    frozen_dict,
    measure,
)

_SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
JSON = st.recursive(
    _SCALARS.filter(lambda value: value not in (float("inf"), float("-inf"))),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def _nested(depth: int, *, of: type = list) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value] if of is list else {"x": value}
    return value


def _cycle() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


class Text(str):
    __slots__ = ()


class Number(IntEnum):
    SEVEN = 7


class Ratio(float):
    __slots__ = ()


# What strict JSON refuses, and the words that say so.
REFUSED = {
    "NaN": (float("nan"), "nan is no JSON number"),
    "Infinity": (float("inf"), "inf is no JSON number"),
    "-Infinity": ([float("-inf")], "-inf is no JSON number"),
    "a set": ({1, 2}, "set is no JSON value"),
    "bytes": ([b"x"], "bytes is no JSON value"),
    "an object": ({"x": object()}, "object is no JSON value"),
    "a key that is a number": ({1: 2}, "the key 1 is not text"),
    "a key that is None": ({"x": {None: 2}}, "the key None is not text"),
    "a cycle": (_cycle(), f"nested deeper than {MAX_DEPTH}"),
    "lists too deep": (_nested(MAX_DEPTH + 1), f"nested deeper than {MAX_DEPTH}"),
    "objects too deep": (_nested(5000, of=dict), f"nested deeper than {MAX_DEPTH}"),
}


@given(JSON)
def test_property_freezing_keeps_the_value(value: Any) -> None:
    """A frozen value writes the same JSON, and thaws to an equal one."""
    frozen = freeze(value)
    assert json.loads(canonical(frozen)) == value
    assert freeze(frozen) == frozen


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), JSON, max_size=4))
def test_property_keys_are_sorted(value: dict[str, Any]) -> None:
    """A frozen object has its keys in order, whatever order they came in."""
    frozen = freeze(dict(reversed(value.items())))
    assert list(frozen) == sorted(value)
    assert repr(frozen) == repr(freeze(value))


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    """Whatever is no strict JSON is refused by freezing and by measuring, with the same words."""
    value, why = REFUSED[name]
    with pytest.raises(NotJsonError, match=why):
        freeze(value)
    with pytest.raises(NotJsonError, match=why):
        measure(value, None)


@pytest.mark.parametrize("of", [list, dict])
def test_the_deepest_value(of: type) -> None:
    """A value may nest as deep as the limit says."""
    value = _nested(MAX_DEPTH, of=of)
    assert measure(value, None) == len(json.dumps(value, separators=(",", ":")))
    assert canonical(freeze(value)) == json.dumps(value, separators=(",", ":"))


def test_a_number_that_nobody_can_write() -> None:
    """A whole number of more digits than any interpreter writes is refused, and still measured."""
    with pytest.raises(NotJsonError, match="more than 600 digits"):
        freeze([10**600])
    assert freeze([10**600 - 1, -(10**600) + 1]) == (10**600 - 1, 1 - 10**600)
    assert 5_000 <= measure(10**5000, None) <= 5_003
    assert 5_001 <= measure(-(10**5000), None) <= 5_004


def test_nothing_is_shared() -> None:
    """What is changed after it was handed over alters no frozen value."""
    given_list, given_dict = [1], {"x": {"y": 1}}
    frozen = freeze({"list": given_list, "dict": given_dict})
    given_list.append(2)
    given_dict["x"]["y"] = 2
    assert frozen == {"list": (1,), "dict": {"x": {"y": 1}}}


@pytest.mark.parametrize(
    ("value", "kind"), [(Text("a"), str), (Number.SEVEN, int), (Ratio(0.5), float)]
)
def test_subclasses_become_plain(value: Any, kind: type) -> None:
    """A subclass of a scalar becomes the plain scalar."""
    frozen = freeze([value])[0]
    assert (type(frozen), frozen) == (kind, value)


def test_odd_containers() -> None:
    """Subclasses of containers are copied too; a subclass of a float must be finite."""
    assert freeze(OrderedDict(b=1, a=(2,))) == {"a": (2,), "b": 1}
    with pytest.raises(NotJsonError):
        freeze(Ratio("nan"))


# --- frozen objects

CHANGES = [
    lambda frozen: frozen.__setitem__("a", 2),
    lambda frozen: frozen.__delitem__("a"),
    lambda frozen: frozen.update(a=2),
    lambda frozen: frozen.clear(),
    lambda frozen: frozen.pop("a"),
    lambda frozen: frozen.popitem(),
    lambda frozen: frozen.setdefault("b", 2),
    lambda frozen: frozen.__ior__({"b": 2}),
    lambda frozen: setattr(frozen, "b", 2),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_frozen_object_cannot_be_changed(change: Any) -> None:
    """No method changes a frozen object."""
    frozen = FrozenDict({"a": 1})
    with pytest.raises((TypeError, AttributeError)):
        change(frozen)
    assert frozen == {"a": 1}


def test_a_frozen_object_freezes_what_it_is_given() -> None:
    """The public constructor copies, freezes, sorts, and refuses what is no JSON."""
    inner = [1]
    frozen = FrozenDict({"b": inner, "a": UserDict()} | {"a": {"x": [2]}})
    inner.append(3)
    assert frozen == {"a": {"x": (2,)}, "b": (1,)}
    assert list(frozen) == ["a", "b"]
    assert (FrozenDict(), FrozenDict([("a", 1)])) == ({}, {"a": 1})
    for bad in ({"a": float("nan")}, {1: 2}):
        with pytest.raises(NotJsonError):
            FrozenDict(bad)  # type: ignore[arg-type]


def test_a_frozen_object_is_a_value() -> None:
    """Equal frozen objects have one hash, and copies of any kind are equal."""
    frozen = freeze({"a": [1, {"b": 2}], "c": None})
    assert hash(frozen) == hash(freeze({"c": None, "a": [1, {"b": 2}]}))
    assert copy.copy(frozen) is copy.deepcopy(frozen) is frozen
    again = pickle.loads(pickle.dumps(frozen))  # noqa: S301
    assert (again, type(again)) == (frozen, FrozenDict)
    assert type(frozen_dict({"a": 1})) is FrozenDict


def test_thawing() -> None:
    """A thawed copy is plain and private, all the way down."""
    frozen = freeze({"a": [1, {"b": [2]}], "c": "x"})
    thawed = frozen.thaw()
    assert thawed == {"a": [1, {"b": [2]}], "c": "x"}
    thawed["a"][1]["b"].append(3)
    assert frozen == {"a": (1, {"b": (2,)}), "c": "x"}


# --- text


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("", ""),
        ("plain", "plain"),
        ("ü日\U0001f600", "ü日\U0001f600"),
        ("a\ud800b", "a\ufffdb"),
        ("\udfff", "\ufffd"),
        ("\ud83d\ude00", "\ufffd\ufffd"),
        ("\ud7ff\ue000", "\ud7ff\ue000"),
    ],
)
def test_cleaning(text: str, cleaned: str) -> None:
    """What UTF-8 cannot encode is replaced, and text that needs nothing is the same object."""
    assert clean_text(text) == cleaned
    assert (clean_text(text) is text) is (text == cleaned)
    assert freeze({text: [text]}) == {cleaned: (cleaned,)}


@pytest.mark.parametrize("text", ["plain", "ü", "\ud800"])
def test_cleaning_a_subclass(text: str) -> None:
    """A subclass of text becomes plain text."""
    assert type(clean_text(Text(text))) is str


# --- sizes


def _bytes(value: Any) -> int:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return len(text.encode("utf-8", "surrogatepass"))


@given(JSON)
def test_property_a_size_is_that_of_the_encoding(value: Any) -> None:
    """A value's size is that of its compact JSON in UTF-8; text alone counts its own bytes."""
    expected = (
        len(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else _bytes(value)
    )
    assert measure(value, None) == expected
    assert measure(value, expected) == expected


@given(JSON, st.integers(0, 60))
def test_property_a_size_above_the_limit(value: Any, limit: int) -> None:
    """Up to the limit a size is exact; above it, it is some number above it."""
    exact = measure(value, None)
    measured = measure(value, limit)
    assert measured == exact if exact <= limit else measured > limit


@pytest.mark.parametrize("value", [True, False, None, 0, -1, 10**17, 10**18, 2**63, -(2**63), 1.5])
def test_scalars(value: Any) -> None:
    """Scalars are measured as they are written, to the digit."""
    assert measure([value], None) == _bytes([value])


@pytest.mark.parametrize("raw", [b"\xff\x00", bytearray(b"ab")])
def test_raw_bytes(raw: bytes) -> None:
    """Bytes count as they are."""
    assert measure(raw, None) == 2


class Counting(list[Any]):
    """A list that counts how many of its items were looked at."""

    seen = 0

    def __iter__(self) -> Any:
        for item in super().__iter__():
            self.seen += 1
            yield item


def test_measuring_stops_at_the_limit() -> None:
    """Nothing beyond the limit is looked at, so the cost is bounded by the limit."""
    items = Counting(["x" * 10] * 1000)
    assert measure(items, 1100) > 1100
    assert items.seen <= 20
    assert measure({"k" * 50: 1, "never": object()}, 20) > 20


def test_text_is_measured_in_bytes() -> None:
    """Limits count bytes and never characters."""
    assert measure("日" * 100, 300) == 300
    assert measure("日" * 100, 299) > 299
    assert measure(["日" * 100], None) == 304
