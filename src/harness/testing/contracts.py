"""
What everything that a host implements must hold, as tests that run against a class of your own.

Subclass a kit, give it a factory, and let pytest collect the subclass::

    class TestMyTool(ToolContract):
        def make_tool(self):
            return MyTool(...)

        def sample_calls(self):
            return [ToolCall("my_tool", {"service": "payment"}, {"text": "pool"})]

A kit needs no pytest: :func:`broken_rules` runs it anywhere and names the rules that do not hold.
The kits of the stores are in :mod:`harness.testing.contracts_stores`, and here as well.
"""

from harness.testing._agent_contract import AgentContract
from harness.testing._canonical_store_contract import CanonicalStoreContract
from harness.testing._guard_contract import SemanticGuardContract
from harness.testing._run_store_contract import RunStoreContract
from harness.testing._sink_contract import EventSinkContract
from harness.testing._store_contract import broken_rules
from harness.testing._tool_contract import ToolContract

__all__ = [
    "AgentContract",
    "CanonicalStoreContract",
    "EventSinkContract",
    "RunStoreContract",
    "SemanticGuardContract",
    "ToolContract",
    "broken_rules",
]
