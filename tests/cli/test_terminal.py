"""What a log says never steers the terminal."""

import io
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness._cli._terminal import SafeStream, escape, one_line, silence


class _Terminal(io.StringIO):
    """A stream of a terminal that is some columns wide."""

    def fileno(self) -> int:
        return 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain äöü 漢字 🚀", "plain äöü 漢字 🚀"),
        ("a\tb\nc", "a\tb\nc"),
        ("\x1b[2Jgone", "\\u001b[2Jgone"),
        ("over\rwritten", "over\\u000dwritten"),
        ("bell\x07 delete\x7f", "bell\\u0007 delete\\u007f"),
        ("\x9b31m", "\\u009b31m"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\ud800", "\\ud800"),
        ("\u2028", "\\u2028"),
    ],
)
def test_what_could_steer_a_terminal_is_escaped(text: str, shown: str) -> None:
    """Control characters, marks of direction and lone surrogates are shown, not obeyed."""
    assert escape(text) == shown


@given(st.text(st.characters()))
def test_no_control_character_gets_through(text: str) -> None:
    """Of all control characters only line feed and tab are written."""
    out = io.StringIO()
    assert SafeStream(out).write(text) == len(text)
    controls = {character for character in out.getvalue() if not character.isprintable()}
    assert not any(ord(character) < 0xA0 for character in controls - {"\n", "\t"})


@given(st.text())
def test_escaped_json_is_the_same_json(text: str) -> None:
    """JSON that went through a safe stream decodes to the same value."""
    encoded = json.dumps({text: text}, ensure_ascii=False)
    assert json.loads(escape(encoded)) == {text: text}


def test_a_line_stays_one_line() -> None:
    """Text of others cannot begin a line of its own."""
    assert one_line("a\nexit 0") == "a\\u000aexit 0"


def test_a_safe_stream_is_made_once() -> None:
    """Making a stream safe twice escapes once."""
    safe = SafeStream(io.StringIO())
    assert SafeStream.of(safe) is safe
    assert SafeStream.of(io.StringIO()).getvalue() == ""


def test_a_line_is_rewritten_within_the_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """The live line is cut to the terminal, with nothing in it that moves the cursor."""
    monkeypatch.setattr(os, "get_terminal_size", lambda _number: os.terminal_size((8, 24)))
    out = _Terminal()
    SafeStream(out).rewrite("abc\rdefghij")
    assert out.getvalue() == "\rabc\\u00\x1b[K"


@pytest.mark.parametrize("columns", [0, None])
def test_an_unknown_width_is_a_usual_one(
    columns: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A terminal that does not know its width is taken for one of 80 columns."""

    def size(_number: int) -> os.terminal_size:
        if columns is None:
            raise OSError
        return os.terminal_size((columns, 24))

    monkeypatch.setattr(os, "get_terminal_size", size)
    out = _Terminal()
    SafeStream(out).rewrite("x" * 200)
    assert out.getvalue().count("x") == 79


def test_silence_lets_the_rest_go_nowhere(tmp_path: Path) -> None:
    """What is flushed after a stream was silenced is written nowhere."""
    with (tmp_path / "out").open("w") as stream:
        stream.write("rest")
        silence(stream)
        stream.flush()
    assert (tmp_path / "out").read_text() == ""
    silence(io.StringIO())
