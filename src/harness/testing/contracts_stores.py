"""
What every store must hold, as tests that run against a store of your own.

Subclass a kit, give it a factory, and let pytest collect the subclass::

    class TestMyRunStore(RunStoreContract):
        def make_store(self):
            return MyRunStore(...)

A kit needs no pytest: :func:`broken_rules` runs it anywhere and names the rules that do not hold.
"""

from harness.testing._canonical_store_contract import CanonicalStoreContract
from harness.testing._run_store_contract import RunStoreContract
from harness.testing._store_contract import broken_rules

__all__ = ["CanonicalStoreContract", "RunStoreContract", "broken_rules"]
