"""
The built-in semantic guard: lexical and deterministic, without a model.
"""

from harness.guards._lexical import LexicalGuard, Mismatch, SupportCheck, check_support
from harness.guards._reasons import MismatchReason

__all__ = ["LexicalGuard", "Mismatch", "MismatchReason", "SupportCheck", "check_support"]
