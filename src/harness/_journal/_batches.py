"""The steps of a batch, written to the journal or read back in the order of their entries."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from types import coroutine
from typing import Any, Final, Generic, TypeVar

from harness._journal._answers import raised_from, raised_to
from harness._journal._course import Course
from harness._run import Stopped
from harness._seam import Batch
from harness.errors import RecordDecodeError

__all__ = ["PlayedBatch", "RecordedBatch", "in_lanes"]

T = TypeVar("T")
Step = Callable[[], Awaitable[T]]


def in_lanes(course: Course, steps: Sequence[Step[T]]) -> list[Step[T]]:
    """
    Give each step of a batch its lane.

    Args:
        course: The run's course.
        steps: The steps.
    """

    def in_lane(lane: int, step: Step[T]) -> Step[T]:
        async def run() -> T:
            course.lane, course.life.flowing = lane, True
            try:
                return await step()
            finally:
                course.life.flowing = False

        return run

    return [in_lane(lane, step) for lane, step in enumerate(steps, 1)]


class RecordedBatch(Generic[T]):
    """
    A driver's batch, noted as it goes.

    Args:
        course: The run's course.
        batch: The driver's batch, of steps in lanes.
    """

    def __init__(self, course: Course, batch: Batch[T]) -> None:
        self._course: Final = course
        self._batch: Final = batch

    async def next(self) -> tuple[int, T] | None:
        """
        Give the next finished step.
        """
        course = self._course
        course.guard()
        course.life.flowing = False
        try:
            done = await self._batch.next()
        except BaseException as fault:
            self._back()
            course.note("next", raised_to(fault))
            raise
        self._back()
        course.note("next", {"place": None if done is None else done[0]})
        return done

    async def close(self) -> Sequence[int]:
        """
        Abort what is under way; give the places of results nobody took.
        """
        course = self._course
        course.life.flowing = False
        try:
            places = await self._batch.close()
        finally:
            self._back()
        course.note("close", {"places": list(places)})
        return places

    def _back(self) -> None:
        """
        The run itself goes on.
        """
        self._course.lane, self._course.life.flowing = 0, True
        self._course.life.settle()


class _Step(Generic[T]):
    """
    One step that is read back.
    """

    __slots__ = ("coroutine", "fault", "is_done", "is_taken", "make", "result")

    def __init__(self, make: Step[T]) -> None:
        self.make: Final = make
        self.coroutine: Any = None
        self.is_done = False
        self.is_taken = False
        self.result: T | None = None
        self.fault: Exception | None = None

    def begun(self) -> Any:
        """
        Give its coroutine; begun where it was not.
        """
        if self.coroutine is None:
            self.coroutine = self.make()
        return self.coroutine

    def end(self, result: T | None, fault: Exception | None = None) -> None:
        """
        Keep what it came to.
        """
        self.result, self.fault, self.is_done = result, fault, True


class PlayedBatch(Generic[T]):
    """
    A batch that is read back, lane by lane; what was not finished then is finished one by one.

    Args:
        course: The run's course.
        steps: The steps, in lanes.
    """

    def __init__(self, course: Course, steps: Sequence[Step[T]]) -> None:
        self._course: Final = course
        self._steps: Final = [_Step(step) for step in steps]
        self._finished: Final[list[int]] = []
        course.lanes = self

    def advance(self, lane: int) -> bool:
        """
        Let a step go on to where it waits for another's entry.

        Args:
            lane: The step's lane.

        Returns:
            Whether there is such a step that has not ended.
        """
        if not 1 <= lane <= len(self._steps) or self._steps[lane - 1].is_done:
            return False
        step = self._steps[lane - 1]
        begun = step.begun()
        self._course.lane = lane
        try:
            begun.send(None)
        except StopIteration as done:
            self._end(lane - 1, done.value)
        except Exception as fault:  # noqa: BLE001  raised again where the batch is awaited
            self._end(lane - 1, None, fault)
        self._course.life.flowing = True
        return True

    def _end(self, place: int, result: T | None, fault: Exception | None = None) -> None:
        self._steps[place].end(result, fault)
        self._finished.append(place)

    async def next(self) -> tuple[int, T] | None:
        """
        Give the step that was finished next then; after the journal's end, the next one now.
        """
        course = self._course
        await course.turn()
        entry = course.take("next", {"reads": "batch"})
        if entry is None:
            return await self._next_live()
        raised = raised_from(entry.data)
        if raised is not None:
            raise self._fault_like(raised)
        place = entry.data.get("place")
        if place is None:
            return None
        return self._taken(course.decode(self._finished_place, place, f"{entry.path}.place"))

    def _finished_place(self, place: object, path: str) -> int:
        if type(place) is not int or place not in self._finished:
            raise RecordDecodeError(path, place, "a step that was finished")
        return place

    def _fault_like(self, raised: BaseException) -> BaseException:
        """
        Give the very fault that a step raised again, or one of its name.
        """
        name = type(raised).__name__
        faults = [step.fault for step in self._steps if type(step.fault).__name__ == name]
        if faults and faults[0] is not None:
            return faults[0]
        return Stopped() if name == Stopped.__name__ else raised

    def _taken(self, place: int) -> tuple[int, T]:
        step = self._steps[place]
        step.is_taken = True
        if step.fault is not None:
            raise step.fault
        result: Any = step.result
        return place, result

    async def _next_live(self) -> tuple[int, T] | None:
        """
        Finish what was under way or not begun, in the order of the calls.
        """
        try:
            place = await self._next_place()
            done = None if place is None else self._taken(place)
        except Exception as fault:
            self._course.note("next", raised_to(fault))
            raise
        self._course.note("next", {"place": place})
        return done

    async def _next_place(self) -> int | None:
        waiting = [place for place in self._finished if not self._steps[place].is_taken]
        if waiting:
            return waiting[0]
        left = [place for place, step in enumerate(self._steps) if not step.is_done]
        if not left:
            return None
        under_way = [place for place in left if self._steps[place].coroutine is not None]
        place = (under_way or left)[0]
        await self._finish(place)
        return place

    async def _finish(self, place: int) -> None:
        course = self._course
        begun = self._steps[place].begun()
        course.lane = place + 1
        try:
            self._end(place, await _gone_on(begun))
        except Exception as fault:  # noqa: BLE001  raised again where the batch is awaited
            self._end(place, None, fault)
        finally:
            course.lane, course.life.flowing = 0, True

    async def close(self) -> Sequence[int]:
        """
        Account for what was under way; give the places of results nobody took.
        """
        course = self._course
        await course.turn()
        entry = course.take("close", {"reads": "batch"})
        if entry is not None:
            path = f"{entry.path}.places"
            places = course.decode(self._untaken_places, entry.data.get("places"), path)
        else:
            places = await self._close_live()
        for step in self._steps:
            if step.coroutine is not None:
                step.coroutine.close()
        course.lanes = None
        return places

    def _untaken_places(self, places: object, path: str) -> list[int]:
        if isinstance(places, list) and all(place in self._finished for place in places):
            return places
        raise RecordDecodeError(path, places, "a list of places")

    async def _close_live(self) -> list[int]:
        for place, step in enumerate(self._steps):
            if step.coroutine is not None and not step.is_done:
                await self._finish(place)
        places = [
            place
            for place in self._finished
            if not self._steps[place].is_taken and self._steps[place].fault is None
        ]
        self._course.note("close", {"places": places})
        return places


@coroutine
def _gone_on(begun: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
    """
    Await a coroutine that may have been begun by hand.
    """
    return (yield from begun.__await__())
