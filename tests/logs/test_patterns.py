"""Patterns that cannot run away, and those that are refused."""

import re
import warnings
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import InvalidArgumentError
from harness.logs._patterns import MAX_PATTERN, compile_pattern

# (pattern, a line that it is found in, one that it is not)
_ACCEPTED = [
    ("error", "an error", "an Error"),
    ("(?i)error", "an Error", "a warning"),
    ("(?i)(error|failed).*pool", "Failed: pool", "failed"),
    (r"status=5\d\d", "status=503", "status=404"),
    (r"\d{1,3}(\.\d{1,3}){3}", "from 10.0.0.1", "from 10.0"),
    ("(?:foo|bar)+!", "foobarfoo!", "foo"),
    ("((a|b)c)*d", "acbcd", "acbc"),
    ("(a+)?b", "b", "a"),
    (".*error.*", "an error", "a warning"),
    ("^.*?x.*$", "x", "y"),
    (r"a\.*$", "a..", "a.b"),
    (r"a\\.*", "a\\", "a"),
    ("[[a]x", "[x", "b x"),
    (r"[\[\]]\[b[c]", "][bc", "[bc"),
    ("[]a]{2}", "]a", "a"),
    ("a{}", "a{}", "a"),
    ("a{,2}b", "b", "a"),
    ("x{2,}y", "xxy", "xy"),
    ("x++y", "xxy", "xx"),
    ("(?>a+)b", "aab", "aa"),
    ("(?<=a)b", "ab", "b"),
    ("a(?!b)", "ac", "ab"),
    ("(?P<name>a)", "a", "b"),
    ("(?i:ab)c", "ABc", "ABC"),
    ("(|a)b", "b", "a"),
    ("", "", None),
]

_REFUSED = [
    ("(a+)+$", "a quantifier or unclear alternatives in a repeated group"),
    (r"(\w+\s?)*x", "in a repeated group"),
    ("(a|a)*b", "in a repeated group"),
    ("(a|ab)*c", "in a repeated group"),
    ("(A|a)*b", "in a repeated group"),
    ("(a||b)*c", "in a repeated group"),
    (r"(\d|x)*y", "in a repeated group"),
    ("(a?)*", "in a repeated group"),
    ("((a+)b)*", "in a repeated group"),
    ("(a{1,9}){1,9}b", "in a repeated group"),
    ("((a?){2}){3}", "repeats of repeats"),
    (r"(\d+,){4}(\d+,){4}", "more than 6 quantifiers without a small bound"),
    (".*a.*b.*c.*d.*e.*f.*g.*h", "more than 6 quantifiers without a small bound"),
    (r"(x)\1", "a reference to an earlier group"),
    ("(?P<a>x)(?P=a)", "a group of a kind that is not accepted"),
    ("(?x) a", "a group of a kind that is not accepted"),
    ("[a-z--b]", "an operation on sets of characters"),
    ("x" * (MAX_PATTERN + 1), "at most 500 characters"),
    ("[", "a set of characters that is not closed"),
    ("a(", "missing \\)"),
    ("a)", "unbalanced parenthesis"),
    ("*", "nothing to repeat"),
    ("\\", "bad escape"),
    ("a{99999999999}", "a regular expression \\("),
]


@pytest.mark.parametrize(("pattern", "found", "missed"), _ACCEPTED)
def test_a_pattern_is_accepted(pattern: str, found: str, missed: str | None) -> None:
    """An ordinary pattern means what it says."""
    compiled = compile_pattern(pattern)
    assert compiled.search(found)
    assert missed is None or not compiled.search(missed)


@pytest.mark.parametrize(("pattern", "why"), _REFUSED)
def test_a_pattern_is_refused(pattern: str, why: str) -> None:
    """What could run away, or is no pattern, is refused before it runs, and the error says why."""
    with pytest.raises(InvalidArgumentError, match=f"pattern is .*{why}"):
        compile_pattern(pattern)


@given(st.text("ab|()[]*+?{}1,.\\^$-&~ \n", max_size=12), st.text("ab1,. ", max_size=8))
def test_any_text_is_compiled_or_refused(pattern: str, line: str) -> None:
    """A pattern gives a clear error, or finds exactly what the engine itself finds."""
    try:
        compiled = compile_pattern(pattern)
    except InvalidArgumentError:
        return
    with warnings.catch_warnings(action="ignore", category=FutureWarning):
        assert bool(compiled.search(line)) == bool(re.search(pattern, line))


@pytest.mark.parametrize("pattern", [p for p, _, _ in _ACCEPTED])
def test_what_is_accepted_ends(pattern: str) -> None:
    """No accepted pattern of this page takes a second on a line that was made against it."""
    compiled = compile_pattern(pattern)
    began = process_time()
    for piece in ("a", "ab", "1", "1.1", "foobar", "acbc"):
        compiled.search(piece * 40 + "\0")
    assert process_time() - began < 1


_PIECES = st.sampled_from(
    [
        *("a", "b", "a+", "a*", "b?", "a{1,3}", "[ab]+", ".", ".*"),
        *("(", "(?:", ")", ")*", ")+", "){2}", ")?", "|", "a|", "|b"),
    ]
)


@given(st.lists(_PIECES, max_size=10).map("".join))
def test_no_accepted_pattern_runs_away(pattern: str) -> None:
    """What is accepted ends soon on lines that make a runaway pattern take ages."""
    try:
        compiled = compile_pattern(pattern)
    except InvalidArgumentError:
        return
    began = process_time()
    for line in ("a" * 40 + "c", "ab" * 20 + "c"):
        compiled.search(line)
    assert process_time() - began < 1
