"""The draft, the evidence guard with its one repair, the semantic guard (section 3.7)."""

from __future__ import annotations

import re

from tests.model.basics import EndedError, arrived, is_blank
from tests.model.collecting import Collecting
from tests.model.vocabulary import Json


class Gates(Collecting):
    """What a draft must pass before it may be released."""

    def __init__(self, scenario: Json, alternatives: frozenset[str]) -> None:
        super().__init__(scenario, alternatives)
        self.violations: list[str] = []
        self.verdict: str | None = None
        self.report: Json | None = None

    def gate(self, draft: Json) -> None:
        """Conclusion, evidence guard with one repair, semantic guard."""
        self.conclude(draft)
        if self.has_violations(draft):
            draft = self.repaired()
            if self.has_violations(draft):
                raise EndedError("EVIDENCE_REJECTED")
        step, kind = self.ask("semantic_guard", lambda _step: True)
        if kind:
            raise EndedError("SEMANTIC_UNAVAILABLE")
        self.verdict = step["verdict"]
        self.trace.append("SEMANTIC_JUDGED")
        if self.verdict == "UNSUPPORTED":
            raise EndedError("SEMANTIC_UNSUPPORTED")
        self.report = draft
        raise EndedError("REPORT_APPROVED")

    def repaired(self) -> Json:
        """Use the one chance to repair a draft."""
        self.active()
        if "repair" not in self.scenario or not self.has_room():
            raise EndedError("EVIDENCE_REJECTED")
        step, kind = self.ask("repair", self.is_repair)
        if kind:
            raise EndedError("EVIDENCE_REJECTED")
        draft: Json = step["draft"]
        if self.is_oversized(draft) and not self.alt("REPAIRED_DRAFT_TOO_LARGE"):
            raise EndedError("RESULT_TOO_LARGE")
        if self.is_oversized(draft):
            raise EndedError("EVIDENCE_REJECTED")
        if is_blank(draft["conclusion"] or "") and self.alt("REPAIRED_TO_NO_CONCLUSION"):
            raise EndedError("EVIDENCE_REJECTED")
        self.conclude(draft)
        return draft

    def is_repair(self, step: Json) -> bool:
        """Whether a repaired draft keeps the protocol."""
        return "draft" not in step or self.is_draft(step["draft"])

    def has_violations(self, draft: Json) -> bool:
        """Check every citation against the canonical records."""
        found: set[str] = set()
        cited: list[int] = []
        for citations in [
            draft.get("citations", []),
            *(claim.get("citations", []) for claim in draft.get("claims", [])),
        ]:
            if not citations:
                found.add("UNCITED")
            for citation in citations:
                found |= self.check_citation(citation, cited)
        for _number in dict.fromkeys(cited):
            if not self.load():
                raise EndedError("STORE_UNTRUSTED")
        self.trace.append("EVIDENCE_CHECKED")
        self.violations = sorted(found)
        return bool(found)

    def check_citation(self, citation: Json, cited: list[int]) -> set[str]:
        """Name what is wrong with one citation; note which invocation it rests on."""
        named = re.fullmatch(r"@([1-9][0-9]*)", citation["invocation"])
        if not named or int(named[1]) > len(self.rows):
            return {"UNKNOWN_INVOCATION"}
        number = int(named[1])
        cited.append(number)
        row = self.rows[number - 1]
        fact, quote = citation.get("fact"), citation.get("quote")
        if row.status != "READY":
            more = {"UNKNOWN_FACT"} if fact is not None else set[str]()
            more |= {"QUOTE_MISMATCH"} if quote is not None else set[str]()
            return {"NOT_READY", *(more if more and self.alt("MORE_THAN_ONE_FAULT") else ())}
        if fact is not None and not 1 <= fact <= len(row.facts):
            if quote is not None and self.alt("MORE_THAN_ONE_FAULT"):
                return {"UNKNOWN_FACT", "QUOTE_MISMATCH"}
            return {"UNKNOWN_FACT"}
        if quote is None:
            return set()
        facts = row.facts if fact is None else row.facts[fact - 1 : fact]
        words = arrived(quote)
        is_found = bool(words) and any(words in fact.text for fact in facts)
        if is_found and is_blank(words):
            is_found = not self.alt("BLANK_QUOTE")
        return set() if is_found else {"QUOTE_MISMATCH"}
