"""What a draft is, how large, and whether it concludes anything (section 3.7)."""

from __future__ import annotations

import json

from tests.model.basics import EndedError, is_blank, size_of
from tests.model.tools import Tools
from tests.model.vocabulary import Json


class Drafts(Tools):
    """The protocol of drafts, whoever writes them."""

    def __init__(self, scenario: Json, alternatives: frozenset[str]) -> None:
        super().__init__(scenario, alternatives)
        self.missing: list[str] = []

    def is_draft(self, draft: Json) -> bool:
        """Whether a draft keeps the protocol: a blank claim does not."""
        is_legal = not any(is_blank(claim["text"]) for claim in draft.get("claims", []))
        claims = draft.get("claims", [])
        cited = [c for claim in (draft, *claims) for c in claim.get("citations", [])]
        if any(c.get("fact", 1) < 1 for c in cited) and self.alt("FACT_BELOW_ONE"):
            is_legal = False
        if not is_legal and self.is_oversized(draft):
            self.alt("BLANK_CLAIM_AND_TOO_LARGE")
        return is_legal

    def is_oversized(self, draft: Json) -> bool:
        """Compare a draft with its limit, where the ways to measure agree."""
        limit = self.limits.get("draft_bytes")
        if limit is None:
            return False
        claims = draft.get("claims", [])
        visible = [draft["conclusion"] or "", *(claim["text"] for claim in claims)]
        low = sum(map(size_of, visible))
        size = size_of(json.dumps(draft, ensure_ascii=False, separators=(",", ":")))
        cited = len(draft.get("citations", [])) + sum(len(c.get("citations", [])) for c in claims)
        high = len(json.dumps(draft)) + 100 * (cited + 1)
        if (low > limit) != (high > limit) and self.alt("HOW_DRAFTS_ARE_MEASURED"):
            return bool(size <= limit)
        return bool(size > limit)

    def conclude(self, draft: Json) -> None:
        """End the run here if the draft concludes nothing."""
        if is_blank(draft["conclusion"] or ""):
            self.missing = list(draft.get("missing_context", []))
            if self.missing:
                raise EndedError("MISSING_REQUIRED_CONTEXT")
            raise EndedError("NO_CONCLUSION")
