"""Files that cannot be read: which, and why."""

import errno
import gzip
import os
import pickle
from pathlib import Path

import pytest

from harness.errors import HarnessError
from harness.logs import (
    BinaryLogError,
    CorruptLogError,
    EmptyLogError,
    LogFileError,
    LogNotFoundError,
    LogUnreadableError,
    NotALogFileError,
    ScanStoppedError,
    check_log,
    read_lines,
)

_BINARIES = [
    (b"\x7fELF\x02\x01", "is a program"),
    (b"\x89PNG\r\n", "is a picture"),
    (b"PK\x03\x04rest", "is a zip archive"),
    (b"SQLite format 3\x00", "is an SQLite database"),
    (b"\xfd7zXZ\x00", "is xz-compressed"),
    (b"BZh91AY", "is bzip2-compressed"),
    (b"\x28\xb5\x2f\xfd", "is zstd-compressed"),
    (b"x" * 257 + b"ustar", "is a tar archive"),
    (bytes(range(1, 32)) * 8, "is binary, not a text file"),
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Where a test puts its log."""
    return tmp_path / "app.log"


def _refused(path: Path | str) -> LogFileError:
    """What reading a file raises."""
    with pytest.raises(LogFileError) as caught:
        list(read_lines(path))
    assert str(caught.value) == f"{path}: {caught.value.why}"
    return caught.value


@pytest.mark.parametrize("name", ["absent.log", "a\0b", "absent/absent.log"])
def test_a_missing_file(tmp_path: Path, name: str) -> None:
    """A name that nothing bears, or that nothing can bear, is named as missing."""
    assert type(_refused(tmp_path / name)) is LogNotFoundError


def test_a_directory(tmp_path: Path) -> None:
    """A directory is no log."""
    assert _refused(tmp_path).why == "is a directory, not a file"


def test_a_pipe(log: Path) -> None:
    """What can be read once only is no log; nothing waits for its writer."""
    os.mkfifo(log)
    assert type(_refused(log)) is NotALogFileError


def test_an_unreadable_file(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the system says when it refuses is passed on."""

    def refuse(_path: Path, _mode: str) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    log.write_text("a")
    monkeypatch.setattr(Path, "open", refuse)
    error = _refused(log)
    assert (type(error), error.why) == (LogUnreadableError, "Permission denied")


def test_an_error_without_words(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system error that says nothing is named by its type."""

    def refuse(_path: Path, _mode: str) -> None:
        raise OSError

    log.write_text("a")
    monkeypatch.setattr(Path, "open", refuse)
    assert _refused(log).why == "OSError"


@pytest.mark.parametrize(("data", "why"), _BINARIES)
def test_a_binary_file(log: Path, data: bytes, why: str) -> None:
    """A binary file is refused by its signature, or by its control characters."""
    log.write_bytes(data)
    error = _refused(log)
    assert type(error) is BinaryLogError
    assert error.why.startswith(why)


def test_packed_binary(log: Path) -> None:
    """What a gzip file holds is looked at in the same way."""
    log.write_bytes(gzip.compress(b"\x7fELF\x02\x01"))
    assert type(_refused(log)) is BinaryLogError


@pytest.mark.parametrize("data", [b"\x1b[31mred\x1b[0m\n", b"\x01\x02a", "\u4f60\u597d".encode()])
def test_text_is_not_taken_for_binary(log: Path, data: bytes) -> None:
    """Colours, a few control characters and any script are text."""
    log.write_bytes(data)
    assert len(list(read_lines(log))) == 1


@pytest.mark.parametrize("kept", [2, 9, 60, -1])
def test_cut_off_gzip(log: Path, kept: int) -> None:
    """A gzip file that ends too early is corrupt, wherever it ends."""
    log.write_bytes(gzip.compress(os.urandom(200).hex().encode() + b"\n")[:kept])
    assert type(_refused(log)) is CorruptLogError


def test_damaged_gzip(log: Path) -> None:
    """A gzip file whose content was changed is corrupt, and its whole lines came before that."""
    data = bytearray(gzip.compress(b"line\n" * 200_000))
    data[-6] ^= 1
    log.write_bytes(bytes(data))
    lines = read_lines(log)
    assert next(lines).text == "line"
    with pytest.raises(CorruptLogError, match="the gzip data is damaged"):
        list(lines)


def test_damaged_gzip_data(log: Path) -> None:
    """Compressed data that makes no sense is corrupt."""
    log.write_bytes(gzip.compress(b"")[:10] + b"\xff" * 40)
    assert type(_refused(log)) is CorruptLogError


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf", b"\xff\xfe", gzip.compress(b"")])
def test_check_log_refuses_an_empty_file(log: Path, data: bytes) -> None:
    """Before a run an empty file is an error; reading one gives no line."""
    log.write_bytes(data)
    assert list(read_lines(log)) == []
    with pytest.raises(EmptyLogError, match=r"app.log: is empty"):
        check_log(log)


def test_check_log_accepts_a_log(log: Path) -> None:
    """A file with a line passes."""
    log.write_text("a")
    check_log(log)
    with pytest.raises(LogNotFoundError):
        check_log(f"{log}.1")


@pytest.mark.parametrize("error", [EmptyLogError("a.log", "is empty"), ScanStoppedError(7)])
def test_errors_survive_pickling(error: HarnessError) -> None:
    """Errors keep type, values and text between processes."""
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301  the bytes were just made
    assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))
