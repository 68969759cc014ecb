# noqa: INP001  scripts to be read and run, no package
"""
A function, a question and a diagnosis: the smallest harness that does something useful.

    python examples/first_run.py
"""

import sys

from harness import (
    AgentTurn,
    AgentView,
    Citation,
    DiagnosisDraft,
    Fact,
    Harness,
    RunResult,
    ToolCall,
    tool,
)

LOG = """\
10:00:01 INFO request served in 12 ms
10:00:07 ERROR pool exhausted after 2000 ms, 20 of 20 connections in use
10:00:08 ERROR payment failed: no connection
"""


@tool
def search_log(text: str) -> list[Fact]:
    """Lines of the payment log that hold a text."""
    lines = enumerate(LOG.splitlines(), 1)
    return [Fact(line, f"payment.log:{number}") for number, line in lines if text in line]


def agent(view: AgentView) -> AgentTurn:
    """Ask once, then conclude; in production a model is called here."""
    if not view.records:
        call = ToolCall("search_log", scope={"service": "payment"}, arguments={"text": "ERROR"})
        return AgentTurn([call])
    quote = "pool exhausted after 2000 ms, 20 of 20 connections in use"
    cited = [Citation(view.records[0].invocation_id, fact_id=1, quote=quote)]
    conclusion = "The connection pool was exhausted, with 20 of 20 connections in use."
    return AgentTurn(draft=DiagnosisDraft(conclusion, cited))


def careless(view: AgentView) -> AgentTurn:
    """Conclude something that no evidence carries."""
    turn = agent(view)
    if turn.draft is None:
        return turn
    return AgentTurn(draft=DiagnosisDraft("The disk was full.", turn.draft.citations))


def main() -> tuple[RunResult, RunResult]:
    """
    Run a careful and a careless agent on the same question.

    Returns:
        What came of each: a report, and a fallback without a word of the draft.
    """
    results = []
    for asked in (agent, careless):
        result = Harness(asked, [search_log]).run("Why do payments fail?")
        sys.stdout.write(f"{result}\n\n{result.text}\n{result.explain()}\n\n\n")
        results.append(result)
    return results[0], results[1]


if __name__ == "__main__":
    main()
