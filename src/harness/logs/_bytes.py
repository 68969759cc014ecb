"""
The bytes of a log file: found, decompressed, brought to one encoding and one line end.

1. Memory does not grow with the file: everything is read in chunks, compressed data as well.
2. What comes out is UTF-8, or an 8-bit text that keeps its bytes; a byte-order mark is gone.
3. What comes out ends its lines with LF. A lone CR ends a line only in a file without any LF.
"""

from __future__ import annotations

import codecs
import gzip
import re
import stat
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from harness.logs._errors import (
    BinaryLogError,
    CorruptLogError,
    LogNotFoundError,
    LogUnreadableError,
    NotALogFileError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CHUNK_BYTES", "read_chunks"]

#: How much is read at once.
CHUNK_BYTES: Final = 256 * 1024

_HEAD_BYTES: Final = 8192
_GZIP: Final = b"\x1f\x8b"

# Longest first: the mark of UTF-32-LE begins with the one of UTF-16-LE.
_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, ""),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# Formats that are often taken for a log: (where the signature stands, signature, name).
_SIGNATURES: Final = (
    (0, b"PK\x03\x04", "a zip archive"),
    (0, b"\xfd7zXZ\x00", "xz-compressed"),
    (0, b"BZh", "bzip2-compressed"),
    (0, b"\x28\xb5\x2f\xfd", "zstd-compressed"),
    (0, b"\x7fELF", "a program"),
    (0, b"\x89PNG", "a picture"),
    (0, b"%PDF-", "a PDF document"),
    (0, b"SQLite format 3\x00", "an SQLite database"),
    (0, b"LPKSHHRH", "a systemd journal (export it with journalctl)"),
    (257, b"ustar", "a tar archive"),
)

# Control characters that no text holds; tab, LF, VT, FF, CR, backspace and escape are used in logs.
_CONTROLS: Final = bytes({*range(32), 127} - {8, 9, 10, 11, 12, 13, 27})
_FEW_CONTROLS: Final = 16
_CONTROL_SHARE: Final = 20

# UTF-16 without a mark: nearly every second byte of Western text is NUL.
_UNMARKED_MINIMUM: Final = 16


class _Stream(Protocol):
    """What a plain and a decompressing file have in common."""

    def read(self, size: int, /) -> bytes: ...

    def seek(self, offset: int, /) -> int: ...


def read_chunks(path: str | Path) -> Iterator[bytes]:
    """
    Read a file as chunks of UTF-8 or 8-bit text whose lines end with LF.

    Args:
        path: A regular file, plain or gzip-compressed (told by its content, not its name).

    Yields:
        Non-empty chunks; a CR before an LF is kept.

    Raises:
        LogFileError: It cannot be opened or read to its end.
    """
    with _translated(path), Path(path).open("rb") as raw:
        if raw.read(2) == _GZIP:
            raw.seek(0)
            with gzip.open(raw) as unpacked:
                yield from _normalised(unpacked, path)
        else:
            yield from _normalised(raw, path)


@contextmanager
def _translated(path: str | Path) -> Iterator[None]:
    """
    Turn what the system raises into the typed errors of this package.
    """
    name = str(path)
    try:
        _require_regular(path)
        yield
    except FileNotFoundError:
        raise LogNotFoundError(name, "no such file") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise CorruptLogError(name, f"the gzip data is damaged ({error})") from error
    except EOFError as error:
        raise CorruptLogError(name, "the gzip data ends too early") from error
    except OSError as error:
        raise LogUnreadableError(name, error.strerror or type(error).__name__) from error


def _require_regular(path: str | Path) -> None:
    try:
        mode = Path(path).stat().st_mode
    except ValueError as error:
        raise LogNotFoundError(str(path), f"no possible file name ({error})") from None
    if stat.S_ISDIR(mode):
        raise NotALogFileError(str(path), "is a directory, not a file")
    if not stat.S_ISREG(mode):
        raise NotALogFileError(str(path), "is no regular file; copy what it gives into one")


def _normalised(stream: _Stream, path: str | Path) -> Iterator[bytes]:
    """
    Bring one stream to UTF-8 or 8-bit text with LF.
    """
    stream.seek(0)
    head = stream.read(_HEAD_BYTES)
    start, encoding = _encoding(head)
    if not encoding:
        _require_text(head, path)
    stream.seek(start)
    only_cr = _has_only_cr(_text_chunks(stream, encoding))
    stream.seek(start)
    for chunk in _text_chunks(stream, encoding):
        yield chunk.replace(b"\r", b"\n") if only_cr else chunk


def _encoding(head: bytes) -> tuple[int, str]:
    """
    Tell where the text starts, and the wide encoding to decode; empty for one-byte text and UTF-8.
    """
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return len(mark), encoding
    if len(head) >= _UNMARKED_MINIMUM:
        even, odd = _is_mostly_nul(head[::2]), _is_mostly_nul(head[1::2])
        if odd != even:
            return 0, "utf-16-le" if odd else "utf-16-be"
    return 0, ""


def _is_mostly_nul(part: bytes) -> bool:
    return part.count(0) * 10 > len(part) * 7


def _require_text(head: bytes, path: str | Path) -> None:
    """
    Refuse what is no text: by its signature, or by its share of control characters.

    Runs of NUL count once: a log that was truncated under its writer begins with a hole.
    """
    for offset, signature, name in _SIGNATURES:
        if head.startswith(signature, offset):
            raise BinaryLogError(str(path), f"is {name}, not a text file")
    squeezed = re.sub(b"\0+", b"\0", head)
    controls = len(squeezed) - len(squeezed.translate(None, _CONTROLS))
    if controls >= _FEW_CONTROLS and controls * _CONTROL_SHARE > len(squeezed):
        raise BinaryLogError(str(path), "is binary, not a text file")


def _has_only_cr(chunks: Iterator[bytes]) -> bool:
    """
    Tell whether CR ends the lines: there is one, and no LF. Reads no further than the first LF.
    """
    cr = False
    for chunk in chunks:
        if b"\n" in chunk:
            return False
        cr = cr or b"\r" in chunk
    return cr


def _text_chunks(stream: _Stream, encoding: str) -> Iterator[bytes]:
    """
    Read the rest of a stream, decoded from a wide encoding where there is one.
    """
    if not encoding:
        while chunk := stream.read(CHUNK_BYTES):
            yield chunk
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    while chunk := stream.read(CHUNK_BYTES):
        if text := decoder.decode(chunk):
            yield text.encode()
    if text := decoder.decode(b"", final=True):
        yield text.encode()
