"""Lines that say the same thing become one group."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.logs import Level
from harness.logs._masking import mask
from harness.logs._scan import Entry
from harness.logs._templates import Template, TemplateGrouper

_AT = datetime(2015, 10, 18, tzinfo=UTC)

_MASKED = [
    ("took 17 ms", "took <*> ms", ["17"]),
    ("took 17ms, -3.5%", "took <*>, <*>%", ["17ms", "-3.5"]),
    ("from 10.0.0.1:8080 to 10.0.0.2", "from <*> to <*>", ["10.0.0.1:8080", "10.0.0.2"]),
    ("sshd[19939]: x", "sshd[<*>]: x", ["19939"]),
    ("blk_-160899 ok", "blk_<*> ok", ["-160899"]),
    ("session 0x14ed93111f2003f", "session <*>", ["0x14ed93111f2003f"]),
    ("id f7b8d1f1d4d44643b07fa10ca7d021fb.", "id <*>.", ["f7b8d1f1d4d44643b07fa10ca7d021fb"]),
    (
        "req-addc1839-2ed5-4778-b57e-5854eb7b8b09 x",
        "req-<*> x",
        ["addc1839-2ed5-4778-b57e-5854eb7b8b09"],
    ),
    ("deadbeef feedface", "deadbeef feedface", []),
    ("open /var/log/app.log failed", "open <*> failed", ["/var/log/app.log"]),
    ("GET http://host/a?b=1 500", "GET http<*> <*>", ["://host/a?b=1", "500"]),
    ('name="a b" x', "name=<*> x", ['"a b"']),
    ("can't find 'it'", "can't find <*>", ["'it'"]),
    ('{"level":"error","msg":"pool is empty: 9","ts":1}', "pool is empty: <*>", ["9"]),
    (r'level=error msg="say \"no\""', r"say \<*>", [r'"no\"']),
    ("a <*> of 7", "a <*> of <*>", ["<*>", "7"]),
    ("jk2_init() ok ssh2", "jk2_init() ok ssh2", []),
]


def _entry(text: str, number: int = 1, level: Level | None = None) -> Entry:
    return Entry(number, text, cut=False, level=level, stamp=None, instant=_AT, is_head=True)


def _grouped(*texts: str, most: int = 400, level: Level | None = None) -> list[Template]:
    grouper = TemplateGrouper(most)
    for number, text in enumerate(texts, 1):
        grouper.add(_entry(text, number, level))
    return grouper.ranked()


@pytest.mark.parametrize(("text", "constant", "values"), _MASKED)
def test_what_varies_is_masked(text: str, constant: str, values: list[str]) -> None:
    """Numbers, ids, addresses, paths and quoted texts are masked; names with a digit are not."""
    assert mask(text) == (constant, values)


def test_the_timestamp_is_no_part_of_a_template() -> None:
    """What stands before a line's text is left away."""
    assert mask("[18:01:47] [error] it failed", 9) == ("[error] it failed", [])


def test_lines_that_differ_in_masked_parts() -> None:
    """They are one group, which shows what never varied and counts what often stood there."""
    (group,) = _grouped("child 1 in state 6", "child 2 in state 6", "child 1 in state 6")
    assert (group.text, group.count, group.first, group.last) == ("child <*> in state 6", 3, 1, 3)
    assert group.usual == (("1", 2),)
    assert group.sample == "child 1 in state 6"


def test_lines_that_differ_in_a_name() -> None:
    """A word that varies becomes a variable where most of the line is the same."""
    (group,) = _grouped("password of root is wrong", "password of admin is wrong")
    assert (group.text, group.count) == ("password of <...> is wrong", 2)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("connection from a was accepted", "connection from a was refused"),
        ("the link eth is up now", "the link eth is down now"),
        ("open the door at once", "shut the door at once"),
        ("one two three four", "one two drei vier"),
        ("one two three", "one two three four"),
    ],
)
def test_lines_that_say_different_things(one: str, other: str) -> None:
    """Words that tell what happened, first words, and lengths keep groups apart."""
    assert len(_grouped(one, other)) == 2


def test_levels_keep_groups_apart() -> None:
    """The same words at another level are another group."""
    grouper = TemplateGrouper()
    grouper.add(_entry("slow call", 1, Level.INFO))
    grouper.add(_entry("slow call", 2, Level.ERROR))
    assert [group.level for group in grouper.ranked()] == [Level.ERROR, Level.INFO]


def test_a_masked_part_against_a_word() -> None:
    """Where a number is a word in another line, values are no longer told by their place."""
    (group,) = _grouped("wait for 5 more ticks of 7", "wait for five more ticks of 7")
    assert group.text == "wait for <...> more ticks of <*>"
    assert group.usual == ()


def test_values_are_counted_exactly_or_not_at_all() -> None:
    """A place of too many values is given up, one of few is counted."""
    texts = [f"user {n} from 10.0.0.{n % 3}" for n in range(90)]
    (group,) = _grouped(*texts)
    assert group.usual == (("10.0.0.0", 30),)
    assert group.text == "user <*> from <*>"


def test_only_the_first_places_are_counted() -> None:
    """A line of very many values stays cheap: the later ones are only masked."""
    (group,) = _grouped("1 2 3 4 5 6 7 8 9 10", "1 2 3 4 5 6 7 8 9 10")
    assert group.text == "1 2 3 4 5 6 7 8 <*> <*>"


def test_what_matters_most_comes_first() -> None:
    """Severity comes first, then how many and how sudden, and a single failure before a few."""
    grouper = TemplateGrouper()
    rows = [
        (Level.INFO, "all is well", 50),
        (Level.ERROR, "call to bank timed out", 3),
        (Level.ERROR, "store timed out", 40),
        (Level.WARN, "slow call", 90),
        (Level.FATAL, "disk is gone", 1),
        (Level.ERROR, "certificate expired", 1),
    ]
    for number, (level, text, count) in enumerate(rows):
        for _ in range(count):
            grouper.add(_entry(text, number, level))
    assert [group.text.split()[-1] for group in grouper.ranked()] == [
        *("gone", "out", "expired", "out", "call", "well"),
    ]


def test_a_burst_weighs_more_than_an_even_flow() -> None:
    """Of two groups as large and severe, the one that came all at once is first."""
    grouper = TemplateGrouper()
    for number in range(20):
        grouper.add(_entry("even error", number)._replace(instant=_AT.replace(minute=number)))
        second = 0 if number < 19 else 30
        grouper.add(_entry("sudden error", number)._replace(instant=_AT.replace(second=second)))
    assert [group.text for group in grouper.ranked()] == ["sudden error", "even error"]


def test_the_number_of_groups_is_bounded() -> None:
    """When there is no room, a line that is no more severe than the least group has none."""
    grouper = TemplateGrouper(2)
    for number, text in enumerate(["alpha beta", "gamma delta", "epsilon zeta"], 1):
        grouper.add(_entry(text, number, Level.INFO))
    assert [group.text for group in grouper.ranked()] == ["alpha beta", "gamma delta"]
    assert grouper.ungrouped == 1


def test_a_severe_line_finds_room() -> None:
    """The least severe and smallest group gives way to a worse line; its lines are counted."""
    grouper = TemplateGrouper(2)
    for number, text in enumerate(["alpha beta", "alpha beta", "gamma delta"], 1):
        grouper.add(_entry(text, number, Level.INFO))
    grouper.add(_entry("disk is gone", 4, Level.FATAL))
    grouper.add(_entry("gamma delta", 5, Level.INFO))
    assert [group.text for group in grouper.ranked()] == ["disk is gone", "alpha beta"]
    assert grouper.ungrouped == 2


def test_many_spellings_of_one_group_are_not_all_remembered() -> None:
    """What is remembered of lines that were grouped is bounded as well."""
    grouper = TemplateGrouper()
    for number in range(5000):
        name = "".join(chr(97 + int(digit)) for digit in str(number))
        grouper.add(_entry(f"password of {name} is wrong", number))
    assert sum(group.count for group in grouper.ranked()) == 5000
    assert len(grouper._aliases) <= 4096


@given(st.lists(st.sampled_from(["a b 1", "a b 2", "a c 1", "x y", "x 7 z", ""]), max_size=30))
def test_no_line_is_lost(texts: list[str]) -> None:
    """Every line is in exactly one group, or counted as having none; twice the same twice."""
    grouper = TemplateGrouper(3)
    for number, text in enumerate(texts):
        grouper.add(_entry(text, number))
    groups = grouper.ranked()
    assert sum(group.count for group in groups) + grouper.ungrouped == len(texts)
    assert [g.text for g in _grouped(*texts)] == [g.text for g in _grouped(*texts)]
