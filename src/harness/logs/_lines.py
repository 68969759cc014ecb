"""
The lines of a log file, read lazily in memory that neither the file nor a line can make grow.

1. Numbers start at 1 and are those of an editor or of ``sed -n Np``: only LF ends a line (or CR in
   a file without any LF). One CR before the LF belongs to the line end.
2. A line is UTF-8; one that is not is read as Latin-1, where every byte is a character.
3. A text is at most so many UTF-8 bytes; a longer line is cut at a character and flagged.
4. NUL bytes at the start of a line are no text: they are the hole that a truncation left.
"""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Final

from attrs import frozen

from harness.errors import InvalidArgumentError
from harness.logs._bytes import read_chunks
from harness.logs._errors import EmptyLogError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = [
    "MAX_LINE_BYTES",
    "Block",
    "LogLine",
    "check_log",
    "read_blocks",
    "read_lines",
    "require_positive",
]

#: The longest text of a line, in UTF-8 bytes, where no other bound is given.
MAX_LINE_BYTES: Final = 4096

# One character of UTF-8 is four bytes at most.
_WIDEST: Final = 4

# One byte more than the bound tells that a line is longer, and another may be the CR of its end.
_SPARE: Final = 2


@frozen
class LogLine:
    """
    One line of a log file.

    Attributes:
        number: Its number in the file, from 1.
        text: Its text without the line end, at most so many bytes as were asked for.
        cut: Whether the line was longer.
    """

    number: int
    text: str
    cut: bool = False


@frozen
class Block:
    """
    Consecutive lines: what a scan works on, since a record per line would cost more than the scan.

    Attributes:
        first: The number of the first line.
        texts: The lines' texts.
        cut: The numbers of those that were longer.
    """

    first: int
    texts: tuple[str, ...]
    cut: frozenset[int] = frozenset()


def read_lines(path: str | Path, *, max_bytes: int = MAX_LINE_BYTES) -> Iterator[LogLine]:
    """
    Read a log file line by line.

    Args:
        path: A regular file: any of the encodings and line ends above, plain or gzip.
        max_bytes: The longest text, in UTF-8 bytes.

    Yields:
        Every line in order; nothing for an empty file.

    Raises:
        LogFileError: The file cannot be opened, or not be read to its end.
        InvalidArgumentError: *max_bytes* is no positive whole number.
    """
    for block in read_blocks(path, max_bytes=max_bytes):
        for number, text in enumerate(block.texts, block.first):
            yield LogLine(number, text, number in block.cut)


def check_log(path: str | Path) -> None:
    """
    Make sure that a file can be read as a log, before anything depends on it.

    Reads its beginning only: damage further on is found when it is read.

    Args:
        path: The file.

    Raises:
        LogFileError: It is missing, no file, unreadable, binary, damaged or empty.
    """
    if next(read_chunks(path), None) is None:
        raise EmptyLogError(str(path), "is empty")


def read_blocks(path: str | Path, *, max_bytes: int = MAX_LINE_BYTES) -> Iterator[Block]:
    """
    Read a log file as blocks of lines; see :func:`read_lines`.

    Args:
        path: As there.
        max_bytes: As there.

    Returns:
        The blocks, in order; none is empty.

    Raises:
        LogFileError: As there.
        InvalidArgumentError: As there.
    """
    require_positive("max_bytes", max_bytes)
    return _blocks(read_chunks(path), max_bytes)


def require_positive(name: str, value: object) -> None:
    """
    Refuse anything but a positive whole number.

    Args:
        name: The argument's name.
        value: Its value.

    Raises:
        InvalidArgumentError: It is something else.
    """
    if type(value) is not int or value < 1:
        raise InvalidArgumentError(name, value, "a positive whole number")


def _blocks(chunks: Iterator[bytes], max_bytes: int) -> Iterator[Block]:
    """
    Split chunks at LF; only the beginning of an unfinished line is carried over.
    """
    number = 1
    kept = max_bytes + _SPARE
    carried = b""
    inside = False
    for chunk in chunks:
        end = chunk.rfind(b"\n") + 1
        if end == 0:
            carried, inside = _grown(carried, chunk, kept), True
            continue
        start = 0
        if inside:
            start = chunk.index(b"\n") + 1
            yield _single(number, _grown(carried, chunk[: start - 1], kept), max_bytes)
            number += 1
        if start < end:
            block = _block(number, chunk[start:end], max_bytes)
            yield block
            number += len(block.texts)
        carried, inside = _grown(b"", chunk[end:], kept), end < len(chunk)
    if inside:
        yield _single(number, carried, max_bytes)


def _grown(carried: bytes, more: bytes, kept: int) -> bytes:
    """
    Append to the beginning of a line what matters of it.
    """
    return (carried + more[: kept - len(carried)]) if carried else more.lstrip(b"\0")[:kept]


def _single(number: int, data: bytes, max_bytes: int) -> Block:
    """
    Make a block of one line that came in pieces, whose end may have been dropped.
    """
    text, cut = _fit_bytes(data, max_bytes)
    return Block(number, (text,), frozenset({number} if cut else ()))


def _block(first: int, data: bytes, max_bytes: int) -> Block:
    """
    Make a block of whole lines; *data* ends with LF.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        fitted = [_fit_bytes(line, max_bytes) for line in data.split(b"\n")[:-1]]
    else:
        texts = text.replace("\r\n", "\n").split("\n")[:-1]
        if "\0" in text:
            texts = [line.lstrip("\0") for line in texts]
        if len(max(texts, key=len)) * _WIDEST <= max_bytes:
            return Block(first, tuple(texts))
        fitted = [_fit(line, max_bytes) for line in texts]
    cut = frozenset(number for number, (_, cut) in enumerate(fitted, first) if cut)
    return Block(first, tuple(line for line, _ in fitted), cut)


def _fit_bytes(data: bytes, max_bytes: int) -> tuple[str, bool]:
    """
    Decode one line without its LF, no further than it can matter.
    """
    data = data.lstrip(b"\0")
    longer = len(data) >= max_bytes + _SPARE
    piece = data[:max_bytes] if longer else data.removesuffix(b"\r")
    try:
        # Where the rest is left away, a last character that was cut in two is left away with it.
        text = codecs.getincrementaldecoder("utf-8")().decode(piece, final=not longer)
    except UnicodeDecodeError:
        text = piece.decode("latin-1")
    text, cut = _fit(text, max_bytes)
    return text, cut or longer


def _fit(text: str, max_bytes: int) -> tuple[str, bool]:
    """
    Cut a text to so many UTF-8 bytes, at a character.
    """
    data = text.encode()
    if len(data) <= max_bytes:
        return text, False
    return data[:max_bytes].decode(errors="ignore"), True
