"""What the payment service accepts in its configuration and from its clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from attrs import Attribute


def whole(minimum: int) -> Callable[[object, Attribute[int], object], None]:
    """
    Make a validator for whole numbers.

    Args:
        minimum: The least that is allowed.

    Returns:
        The validator. It refuses a bool, which Python takes for a number, by name of its field.
    """

    def check(_record: object, attribute: Attribute[int], value: object) -> None:
        if type(value) is not int or value < minimum:
            raise InvalidArgumentError(attribute.name, value, f"a whole number from {minimum} on")

    return check


def printable(_record: object, attribute: Attribute[str], value: object) -> None:
    """
    Refuse anything but a text that is safe in a log line: a line break in it would forge one.

    Args:
        attribute: The field, for the error.
        value: What it was given.

    Raises:
        InvalidArgumentError: If it is no text, empty, or not printable.
    """
    if not (isinstance(value, str) and value and value.isprintable()):
        raise InvalidArgumentError(attribute.name, value, "a printable text")
