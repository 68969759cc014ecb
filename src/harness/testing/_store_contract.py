"""What the contract kits of the stores have in common; without pytest."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Barrier, Thread
from typing import Any, Final, Generic, TypeVar

__all__ = [
    "LOOKALIKES",
    "THREADS",
    "StoreContract",
    "at_once",
    "broken_rules",
    "expect",
    "expect_equal",
    "expect_refusal",
]

S = TypeVar("S")

THREADS: Final = 8
#: Ids that are not ``Run-1``, and that careless comparisons take for it.
LOOKALIKES: Final = (
    "run-1",
    " Run-1",
    "Run-1 ",
    "Run-1\0",
    "Run",
    "Run-10",
    "Run-%",
    "Run__",
    "*",
)


def expect(holds: object, message: str) -> None:
    """
    Demand a condition.

    Args:
        holds: The condition.
        message: What was found instead.

    Raises:
        AssertionError: It does not hold.
    """
    if not holds:
        raise AssertionError(message)


def expect_equal(found: object, expected: object, what: str) -> None:
    """
    Demand equality.

    Args:
        found: What the store gave.
        expected: What it was given.
        what: What the two are.

    Raises:
        AssertionError: They differ.
    """
    expect(found == expected, f"{what}: found {found!r:.300}, expected {expected!r:.300}")


def expect_refusal(action: Callable[[], object], what: str) -> Exception:
    """
    Demand an exception, of any type.

    Args:
        action: What must be refused.
        what: What that is.

    Returns:
        The exception.

    Raises:
        AssertionError: Nothing was raised.
    """
    try:
        given = action()
    except Exception as error:  # noqa: BLE001  a port may raise what it likes
        return error
    raise AssertionError(f"{what} was not refused; it gave {given!r:.300}")


def at_once(actions: Sequence[Callable[[], object]]) -> list[object]:
    """
    Run actions in threads that start together and are switched between as often as possible.

    Args:
        actions: One a thread.

    Returns:
        What each returned or raised, in order.
    """
    results: list[object] = [None] * len(actions)
    together = Barrier(len(actions))

    def work(place: int) -> None:
        together.wait()
        try:
            results[place] = actions[place]()
        except Exception as error:  # noqa: BLE001  given back to be judged
            results[place] = error

    threads = [Thread(target=work, args=(place,)) for place in range(len(actions))]
    with _switching():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return results


@contextmanager
def _switching() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def broken_rules(kit: type[Any]) -> dict[str, str]:
    """
    Run a kit without a test runner.

    Args:
        kit: A subclass with its factory.

    Returns:
        The rules that do not hold, by the name of their test, with what was found.
    """
    rules = [name for name in dir(kit) if name.startswith("test_")]
    broken = {}
    for name in rules:
        contract = kit()
        contract.setup_method()
        try:
            getattr(contract, name)()
        except Exception as error:  # noqa: BLE001  whatever a store raises breaks the rule
            broken[name] = f"{type(error).__name__}: {error}"
        finally:
            contract.teardown_method()
    return broken


class StoreContract(Generic[S]):
    """
    What the kits of the stores have in common: a new store for each rule.

    Attributes:
        store: The store that the rule is tried on.
    """

    store: S

    def make_store(self) -> S:
        """
        Give a new, empty store. Override it.
        """
        raise NotImplementedError(f"{type(self).__name__}.make_store gives no store")

    def reopen(self, store: S) -> S:
        """
        Give another object on the same data, as another process would open it.

        Override it where the data outlives the object; else the same object is looked at again.

        Args:
            store: The store.
        """
        return store

    def discard(self, store: S) -> None:
        """
        Clean up after a rule. Override it where something is to be closed.

        Args:
            store: A store that :meth:`make_store` or :meth:`reopen` gave.
        """

    def setup_method(self) -> None:
        """
        Make the store; called by pytest.
        """
        self.store = self.make_store()

    def teardown_method(self) -> None:
        """
        Discard the store; called by pytest.
        """
        self.discard(self.store)

    @contextmanager
    def _another_reader(self) -> Iterator[S]:
        other = self.reopen(self.store)
        try:
            yield other
        finally:
            if other is not self.store:
                self.discard(other)
