"""The documentation is true: its code runs, its links lead somewhere, its commands are CI's."""

import re
import unicodedata
from pathlib import Path

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

_ROOT = Path(__file__).parents[1]
_PAGES = sorted(
    str(page.relative_to(_ROOT)) for page in (*_ROOT.glob("*.md"), *_ROOT.glob("docs/**/*.md"))
)
_SYBIL = Sybil(parsers=[PythonCodeBlockParser(), SkipParser()])
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
_COMMAND = re.compile(r'^readonly TEST_COMMAND="(.+)"$', re.MULTILINE)


def _prose(page: Path) -> str:
    """A page without its code blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def _anchor(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    kept = [c for c in heading.lower() if c in "-_ " or unicodedata.category(c)[0] in "LN"]
    return "".join(kept).replace(" ", "-")


def _is_dead(page: Path, link: str) -> bool:
    """Whether a link inside the project leads nowhere."""
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not (target.exists() and target.is_relative_to(_ROOT)):
        return True
    return bool(anchor) and anchor not in map(_anchor, _HEADING.findall(_prose(target)))


@pytest.fixture
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The code of a page runs where it can write without touching the project."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("page", _PAGES)
@pytest.mark.usefixtures("empty_folder")
def test_the_code_of_a_page_runs(page: str) -> None:
    """The Python blocks of a page run one after the other, as a reader would type them."""
    document = _SYBIL.parse(_ROOT / page)
    for example in document.examples():
        example.evaluate()


@pytest.mark.parametrize("page", _PAGES)
def test_the_links_of_a_page_lead_somewhere(page: str) -> None:
    """A link into the project names a file that exists, and a heading that it has."""
    links = _LINK.findall(_prose(_ROOT / page))
    inner = [link for link in links if not re.match(r"[a-z]+:", link)]
    assert [link for link in inner if _is_dead(_ROOT / page, link)] == []


def test_every_page_can_be_reached() -> None:
    """Every page of the documentation is linked from another page."""
    linked = {
        (_ROOT / page).parent.joinpath(link.partition("#")[0]).resolve()
        for page in _PAGES
        for link in _LINK.findall(_prose(_ROOT / page))
    }
    pages = set((_ROOT / "docs").glob("**/*.md")) - {_ROOT / "docs/index.md"}
    assert sorted(pages - linked) == []


def test_ci_calls_the_test_command_of_the_readme() -> None:
    """What README.md and CONTRIBUTING.md tell the reader to type is what CI runs."""
    found = _COMMAND.search((_ROOT / ".ci/run").read_text(encoding="utf-8"))
    assert found is not None
    for page in ("README.md", "CONTRIBUTING.md"):
        assert found[1] in (_ROOT / page).read_text(encoding="utf-8").splitlines()
