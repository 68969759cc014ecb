"""
One tool call up to its facts: execute -> check size -> project (section 3.5).

1. Size is checked before anything is projected, and as a stream.
2. Whatever is wrong with a result is a stable code of its row, never an exception.
3. A result that comes after the run has ended is projected no further.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from itertools import islice
from types import NoneType
from typing import Any, Final

from harness._json import NotJsonError, clean_text, measure
from harness._limits import Limits
from harness._records import Cut
from harness._run import Run, ToolSpec
from harness._seam import Answer, Attempt
from harness._states import Component, InvocationCode
from harness._values import Fact, ToolCall

__all__ = ["ToolOutcome", "bound_facts", "run_tool"]

_SOURCE_CHARACTERS: Final = 1024
#: The most items that are ever taken from an iterator, whatever the limits.
_MOST_ITEMS: Final = 1_000_000
_TOOL: Final = Component.TOOL.value
_PROJECT: Final = "PROJECT"


class ToolOutcome:
    """
    What a tool call came to, before it is saved.
    """

    __slots__ = ("answer", "byte_count", "code", "cut", "detail", "facts")

    def __init__(  # noqa: PLR0913  one outcome's fields
        self,
        answer: Answer,
        facts: tuple[Fact, ...] = (),
        byte_count: int = 0,
        code: InvocationCode | None = None,
        cut: Cut | None = None,
        detail: str = "",
    ) -> None:
        self.answer = answer
        self.facts = facts
        self.byte_count = byte_count
        self.code = code
        self.cut = cut
        self.detail = detail


#: What most tools return, and what needs no further look.
_PLAIN: Final = frozenset({str, list, tuple, Fact, NoneType, dict})


class _TooLarge(Exception):  # noqa: N818  a signal inside this module
    """
    An iterator gave more than the hard limit.
    """


async def run_tool(run: Run, spec: ToolSpec, call: ToolCall, attempt: Attempt) -> ToolOutcome:
    """
    Execute a call and project its result.

    Args:
        run: The run.
        spec: The tool.
        call: The call, its arguments already checked.
        attempt: What the tool gets beside it.

    Returns:
        The facts, or the stable code of what went wrong.
    """
    limits = run.setup.limits
    answer = await run.seam.call(_TOOL, spec.execute, call, attempt)
    if type(answer.value) not in _PLAIN:
        answer = await _collected(run, answer, limits.result_bytes, items=spec.project is None)
    if not answer.is_ok:
        return _failed(answer)
    if run.life.stopped is not None or answer.ended >= run.life.expires:
        return ToolOutcome(answer)
    refused = _refused(answer, limits.result_bytes)
    if refused is not None:
        return refused
    if spec.project is not None:
        return await _projected(run, spec.project, answer)
    return _bound(answer, _own_items(answer.value), limits)


async def _collected(run: Run, answer: Answer, limit: int | None, *, items: bool) -> Answer:
    """
    Take what a generator gives, and any other collection where *items* project by themselves.
    """
    kind = type(answer.value)
    # a generator's body is the tool's own work: what it raises is a tool error
    if hasattr(kind, "__next__") or (items and _is_collection(kind)):
        return await run.seam.call(_TOOL, _collect, answer.value, limit)
    if hasattr(kind, "__anext__"):
        return await run.seam.call(_TOOL, _collect_async, answer.value, limit)
    return answer


def _refused(answer: Answer, limit: int | None) -> ToolOutcome | None:
    """
    Measure a raw result: what cannot be measured is unusable, and what is too large ends the run.
    """
    try:
        size = _size(answer.value, limit)
    except NotJsonError as error:
        return _unusable(answer, str(error))
    except Exception as error:  # noqa: BLE001  a host's list or mapping runs code of the host
        return _unusable(answer, f"measuring it raised {type(error).__name__}")
    if limit is not None and size > limit:
        return ToolOutcome(answer, code=InvocationCode.RESULT_TOO_LARGE)
    return None


def _is_collection(kind: type[Any]) -> bool:
    """
    Whether a value's type is an iterable of items in a fixed order, beside lists and iterators.
    """
    return hasattr(kind, "__iter__") and not issubclass(
        kind, (str, bytes, bytearray, list, tuple, set, frozenset, Mapping)
    )


def _failed(answer: Answer) -> ToolOutcome:
    failure = answer.failure
    if failure is None:
        return ToolOutcome(answer)
    if isinstance(answer.error, _TooLarge):
        return ToolOutcome(Answer(None, answer.ended), code=InvocationCode.RESULT_TOO_LARGE)
    return ToolOutcome(answer, code=InvocationCode[failure.kind.name])


def _unusable(answer: Answer, detail: str) -> ToolOutcome:
    return ToolOutcome(answer, code=InvocationCode.PROJECTION_FAILED, detail=detail)


async def _projected(run: Run, project: Callable[..., Any], answer: Answer) -> ToolOutcome:
    """
    Let the tool's own projector turn a measured result into facts.
    """
    projection = await run.seam.call(_PROJECT, project, answer.value)
    kind = type(projection.value)
    if kind not in _PLAIN:
        if hasattr(kind, "__next__") or _is_collection(kind):
            projection = await run.seam.call(_PROJECT, _take, projection.value)
        elif hasattr(kind, "__anext__"):
            projection = await run.seam.call(_PROJECT, _take_async, projection.value)
    if projection.interrupt is not None:
        return ToolOutcome(projection)
    answer = Answer(answer.value, projection.ended)
    failure = projection.failure
    if failure is not None:
        return _unusable(answer, f"{failure.error}: {failure.detail}")
    return _bound(answer, _own_items(projection.value), run.setup.limits)


def _bound(
    answer: Answer, items: list[Any] | tuple[Any, ...] | None, limits: Limits
) -> ToolOutcome:
    """
    Bound projected facts.
    """
    if items is None:
        return _unusable(answer, f"{type(answer.value).__name__} needs the tool's own projector")
    try:
        bounded = bound_facts(items, limits)
    except Exception as error:  # noqa: BLE001  a host's list runs code of the host
        return _unusable(answer, f"reading it raised {type(error).__name__}")
    if bounded is None:
        return _unusable(answer, "a fact is no text and no Fact")
    facts, byte_count, cut = bounded
    return ToolOutcome(answer, facts, byte_count, None, cut)


def _take(items: Iterable[Any]) -> list[Any]:
    """
    Take what a projector's iterator gives, bounded in number.
    """
    return list(islice(items, _MOST_ITEMS))


async def _take_async(items: AsyncIterator[Any]) -> list[Any]:
    """
    Take what a projector's asynchronous iterator gives, bounded in number.
    """
    taken: list[Any] = []
    try:
        async for item in items:
            taken.append(item)
            if len(taken) == _MOST_ITEMS:
                break
    finally:
        await _close(items)
    return taken


def _own_items(raw: object) -> list[Any] | tuple[Any, ...] | None:
    """
    Give what projects by itself: text, a fact, a list of them, or nothing.
    """
    if isinstance(raw, (str, Fact)):
        return (raw,)
    if raw is None:
        return ()
    return raw if isinstance(raw, (list, tuple)) else None


def _collect(items: Iterable[Any], limit: int | None) -> list[Any]:
    """
    Take an iterator's items until they exceed the hard limit.
    """
    taken: list[Any] = []
    size = 0
    for item in items:
        taken.append(item)
        size += _item_size(item, limit)
        if (limit is not None and size > limit) or len(taken) > _MOST_ITEMS:
            raise _TooLarge
    return taken


async def _collect_async(items: AsyncIterator[Any], limit: int | None) -> list[Any]:
    """
    Take an asynchronous iterator's items until they exceed the hard limit, and close it.
    """
    taken: list[Any] = []
    size = 0
    try:
        async for item in items:
            taken.append(item)
            size += _item_size(item, limit)
            if (limit is not None and size > limit) or len(taken) > _MOST_ITEMS:
                raise _TooLarge
    finally:
        await _close(items)
    return taken


async def _close(items: AsyncIterator[Any]) -> None:
    """
    Close an asynchronous generator that was left early; else its loop would do so some time.
    """
    close = getattr(items, "aclose", None)
    if close is not None:
        await close()


def _item_size(item: object, limit: int | None) -> int:
    if isinstance(item, Fact):
        item = item.text
    return measure(item, limit) if isinstance(item, (str, bytes)) else 1


def _size(raw: object, limit: int | None) -> int:
    """
    Measure a raw result; facts count as their texts.
    """
    if isinstance(raw, str):
        return measure(raw, limit)
    if isinstance(raw, Fact):
        return measure(raw.text, limit)
    if not isinstance(raw, (list, tuple)) or not any(isinstance(item, Fact) for item in raw):
        return measure(raw, limit)
    # each item with the comma or bracket behind it
    total = 1
    for item in raw:
        text = item.text if isinstance(item, Fact) else item
        # one item at a time: no copy of the list is made
        total += measure([text], None if limit is None else limit - total) - 1
        if limit is not None and total > limit:
            break
    return total


def bound_facts(
    items: Iterable[Any], limits: Limits
) -> tuple[tuple[Fact, ...], int, Cut | None] | None:
    """
    Bound facts: drop blank ones, cut long ones at a character, keep so many.

    Args:
        items: Texts and facts.
        limits: The bounds.

    Returns:
        The facts, their bytes and what was cut; ``None`` where an item is neither.
    """
    kept: list[Fact] = []
    kept_bytes = original_facts = original_bytes = 0
    repaired = False
    most = limits.facts_per_result
    for item in items:
        if not isinstance(item, (str, Fact)):
            return None
        fact, kept_size, size, changed = _bounded(item, limits.fact_bytes)
        if not size:
            continue
        repaired = repaired or changed
        original_facts += 1
        original_bytes += size
        if fact is not None and (most is None or len(kept) < most):
            kept.append(fact)
            kept_bytes += kept_size
    cut: Cut | None = None
    if repaired or kept_bytes < original_bytes or len(kept) < original_facts:
        cut = Cut(
            original_facts=original_facts,
            kept_facts=len(kept),
            original_bytes=original_bytes,
            kept_bytes=kept_bytes,
            repaired=repaired,
        )
    return tuple(kept), kept_bytes, cut


def _bounded(item: str | Fact, limit: int | None) -> tuple[Fact | None, int, int, bool]:
    """
    Bound one fact: the fact, its bytes now and before, and whether its text was repaired.
    """
    given, source = (item, "") if isinstance(item, str) else (item.text, item.source)
    text = clean_text(given)
    if not text or text.isspace():
        return None, 0, 0, False
    # a subclass of text is copied too, and that is no repair
    repaired = text is not given and text != given
    kept = size = len(text) if text.isascii() else len(text.encode())
    if limit is not None and size > limit:
        text = text.encode()[:limit].decode("utf-8", "ignore")
        if not text or text.isspace():
            return None, 0, size, repaired
        kept = len(text.encode())
    if source:
        source = source[:_SOURCE_CHARACTERS]
        clean_source = clean_text(source)
        repaired = repaired or clean_source != source
        source = clean_source
    if type(item) is Fact and text is given and source == item.source:
        return item, kept, size, repaired
    return Fact(text, source), kept, size, repaired
