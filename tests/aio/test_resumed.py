"""A run that a crash cut short goes on under asyncio."""

import asyncio

from harness import RunRecord
from harness.replay import resume_async
from harness.stores.journal import MemoryJournal
from harness.stores.memory import MemoryCanonicalStore, MemoryRunStore
from tests.aio.worlds import asking, ending, leaping, tool, world


def test_a_run_goes_on_from_its_journal() -> None:
    """The run ends as if nothing had happened, and a finished call is not made again."""
    calls: list[str] = []
    begun, evidence, whole = MemoryRunStore(), MemoryCanonicalStore(), MemoryJournal()

    class Store(MemoryRunStore):
        def begin(self, record: RunRecord) -> None:
            super().begin(record)
            begun.begin(record)

    async def body() -> str:
        calls.append("made")
        await asyncio.sleep(1)
        return "found"

    parts = {"canonical_store": evidence}
    first = world(asking(["logs"]), tool("logs", body), run_store=Store(), journal=whole, **parts)
    record = leaping(lambda: first.run("why?", run_id="r")).record
    lines, cut = whole.read("r"), MemoryJournal()
    cut.append("r", 0, lines[:-1])
    again = world(asking(["logs"]), tool("logs", body), run_store=begun, journal=cut, **parts)
    resumed = leaping(lambda: resume_async(cut, "r", again)).record
    assert ending(resumed) == ending(record) == ("SUCCESS", "REPORT_APPROVED", "SUCCESS")
    assert resumed.public == record.public
    assert calls == ["made"]
