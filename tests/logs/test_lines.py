"""Lines of files in every encoding and line end, numbered as an editor numbers them."""

import gzip
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import InvalidArgumentError
from harness.logs import LogLine, read_lines
from harness.logs import _bytes as bytes_module
from harness.logs._lines import read_blocks

_ENDINGS = [
    (b"", []),
    (b"\n", [""]),
    (b"a", ["a"]),
    (b"a\n", ["a"]),
    (b"a\nb", ["a", "b"]),
    (b"a\r\nb\r\n", ["a", "b"]),
    (b"a\r\nb\nc\r", ["a", "b", "c"]),
    (b"a\rb\rc", ["a", "b", "c"]),
    (b"a\rb\r", ["a", "b"]),
    (b"a\rb\nc\rd\n", ["a\rb", "c\rd"]),
    (b"a\r\r\nb", ["a\r", "b"]),
    (b"\n\na\n\n", ["", "", "a", ""]),
    ("a\u2028b\x0bc\x0cd\x85e\n".encode(), ["a\u2028b\x0bc\x0cd\x85e"]),
]

_ENCODINGS = [
    ("utf-8", b""),
    ("utf-8", b"\xef\xbb\xbf"),
    ("utf-16-le", b"\xff\xfe"),
    ("utf-16-be", b"\xfe\xff"),
    ("utf-32-le", b"\xff\xfe\x00\x00"),
    ("utf-32-be", b"\x00\x00\xfe\xff"),
    ("utf-16-le", b""),
    ("utf-16-be", b""),
]

_TEXT = "first line, in Western letters\r\nsecond: \u00e9\u20ac\U0001f600\r\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Where a test puts its log."""
    return tmp_path / "app.log"


def _texts(path: Path) -> list[str]:
    return [line.text for line in read_lines(path)]


@pytest.mark.parametrize(("data", "texts"), _ENDINGS)
def test_line_ends(log: Path, data: bytes, texts: list[str]) -> None:
    """LF ends a line, with one CR before it; CR alone does where the file has no LF."""
    log.write_bytes(data)
    assert _texts(log) == texts


def test_numbers_start_at_one(log: Path) -> None:
    """Lines are numbered from 1 without gaps, empty ones included."""
    log.write_bytes(b"a\n\nc")
    assert list(read_lines(log)) == [LogLine(1, "a"), LogLine(2, ""), LogLine(3, "c")]


@pytest.mark.parametrize("data", [b"a\nb\r\nc\rd\n\n\x0ce\xc2\x85f\nlast", b"x\n" * 300 + b"y"])
def test_numbers_are_those_of_sed(log: Path, data: bytes) -> None:
    """Line n is what ``sed -n np`` prints."""
    sed = shutil.which("sed")
    if sed is None:
        pytest.skip("sed is not installed")
    log.write_bytes(data)
    for line in list(read_lines(log))[::50]:
        done = subprocess.run(
            [sed, "-n", f"{line.number}p", str(log)], capture_output=True, check=True
        )
        assert done.stdout.decode().rstrip("\n").removesuffix("\r") == line.text


@pytest.mark.parametrize("chunk", [1, 4096])
@pytest.mark.parametrize(("encoding", "mark"), _ENCODINGS)
def test_encodings(
    log: Path, encoding: str, mark: bytes, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """UTF-8, UTF-16 and UTF-32 are told by their mark, UTF-16 without one by its NUL bytes."""
    monkeypatch.setattr(bytes_module, "CHUNK_BYTES", chunk)
    log.write_bytes(mark + _TEXT.encode(encoding))
    assert _texts(log) == _TEXT.splitlines()


def test_latin_1_is_the_last_resort(log: Path) -> None:
    """A line that is no UTF-8 is read as Latin-1, the lines around it are not."""
    log.write_bytes("gr\u00fcn\n".encode() + b"gr\xfcn\r\ncaf\xe9\n" + "\u20ac".encode())
    assert _texts(log) == ["gr\u00fcn", "gr\u00fcn", "caf\u00e9", "\u20ac"]


def test_a_damaged_wide_file_is_read_to_its_end(log: Path) -> None:
    """Half a character at the end of a UTF-16 file becomes a replacement character."""
    log.write_bytes(b"\xff\xfea\x00\n\x00b")
    assert _texts(log) == ["a", "\ufffd"]


def test_nul_bytes_stay(log: Path) -> None:
    """NUL is a character like any other, but the hole that a truncation leaves is no text."""
    log.write_bytes(b"\0" * 600_000 + b"2015-10-18 after\n\0\0a\0b\n")
    assert _texts(log) == ["2015-10-18 after", "a\0b"]


def test_gzip_is_told_by_its_content(log: Path) -> None:
    """A gzip file is unpacked whatever its name, several members included."""
    log.write_bytes(gzip.compress(b"a\nb") + gzip.compress(b"c\r\nd"))
    assert _texts(log) == ["a", "bc", "d"]


@pytest.mark.parametrize("length", [7, 8, 9, 10, 50])
@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_long_lines_are_cut_and_flagged(log: Path, length: int, end: bytes) -> None:
    """A line longer than the bound is cut there and flagged; one as long as the bound is not."""
    log.write_bytes(b"x" * length + end)
    (line,) = read_lines(log, max_bytes=8)
    assert line == LogLine(1, "x" * min(length, 8), cut=length > 8)


@pytest.mark.parametrize("data", ["\u20ac" * 9, "\u00e9" * 9])
def test_a_cut_keeps_whole_characters(log: Path, data: str) -> None:
    """The bound is one of UTF-8 bytes, and no character is cut in two, Latin-1 included."""
    log.write_bytes(data.encode() + b"\n" + b"\xe9" * 9 + b"\nz")
    first, second, third = read_lines(log, max_bytes=8)
    assert first == LogLine(1, data[: 8 // len(data[0].encode())], cut=True)
    assert second == LogLine(2, "\u00e9" * 4, cut=True)
    assert third == LogLine(3, "z")


@pytest.mark.parametrize("bound", [0, -1, True, 1.5, "8", None])
def test_a_wrong_bound_is_refused_at_once(log: Path, bound: int) -> None:
    """Anything but a positive whole number is refused before the file is opened."""
    with pytest.raises(InvalidArgumentError, match=r"max_bytes is .*positive whole number"):
        read_blocks(log, max_bytes=bound)


_PIECES = st.sampled_from(
    [b"a", b"bcdef", b"\r", b"\n", b"\r\n", b"\xe9", "\u20ac".encode(), b"\0", b"xxxxxxxxxxxx"]
)


@given(data=st.lists(_PIECES, max_size=20).map(b"".join), chunk=st.integers(1, 7))
def test_chunks_do_not_matter(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, chunk: int
) -> None:
    """However the file falls into chunks, its lines are those of the whole."""
    log = tmp_path_factory.mktemp("log") / "app.log"
    log.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bytes_module, "CHUNK_BYTES", chunk)
        pieces = list(read_lines(log, max_bytes=9))
    assert pieces == list(read_lines(log, max_bytes=9))
    plain = data if b"\n" in data else data.replace(b"\r", b"\n")
    assert len(pieces) == plain.count(b"\n") + (not plain.endswith(b"\n") and plain != b"")
