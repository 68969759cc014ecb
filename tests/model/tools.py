"""One tool call, from the check of its arguments to the record (section 3.5)."""

from __future__ import annotations

import json
from collections.abc import Iterable

from tests.model.basics import (
    EndedError,
    Fact,
    Row,
    accepts_kind,
    arrived,
    is_blank,
    is_strict,
    raised_kind,
    size_of,
    texts_of,
)
from tests.model.calls import Calls
from tests.model.vocabulary import Json


class Tools(Calls):
    """Execute, check size, project, save, read back."""

    def __init__(self, scenario: Json, alternatives: frozenset[str]) -> None:
        super().__init__(scenario, alternatives)
        self.executed = 0
        self.rows: list[Row] = []
        self.seen: set[str] = set()
        self.answered: set[str] = set()
        self.saves = 0
        self.loads = 0
        self.read_backs = 0

    def call(self, call: Json) -> None:
        """Execute, check size, project, save, read back."""
        tool, arguments = call["tool"], call.get("arguments", {})
        self.tool_calls += 1
        self.count("tool")
        tools = self.scenario.get("tools", {})
        declared = self.scenario.get("tool_parameters", {}).get(tool)
        if tool not in tools:
            self.finish_call(call, "UNKNOWN_TOOL")
            return
        if declared is not None and not self.accepts(declared, arguments):
            self.finish_call(call, "INVALID_ARGUMENTS")
            return
        self.executed += 1
        step = self.attempt("tool", f"tools.{tool}", tools[tool], self.executed)
        kind = raised_kind(step["raise"]) if "raise" in step else step.get("fail")
        self.trace.append("ATTEMPT_FAILED" if kind else "ATTEMPT_FINISHED")
        if kind:
            self.finish_call(call, kind)
        elif self.is_too_large(step):
            self.trace.pop()
            self.finish_call(call, "RESULT_TOO_LARGE")
            raise EndedError("RESULT_TOO_LARGE")
        else:
            texts = self.project(step)
            if texts is None:
                self.trace.pop()
                self.finish_call(call, "PROJECTION_FAILED")
            else:
                self.finish_call(call, None, texts)

    def accepts(self, declared: dict[str, str], arguments: Json) -> bool:
        """Whether the declared parameters accept the arguments."""
        if set(declared) != set(arguments):
            return False
        for name, value in arguments.items():
            if declared[name] == "float" and isinstance(value, int) and not isinstance(value, bool):
                return not self.alt("WHOLE_NUMBER_FOR_FLOAT")
        return all(accepts_kind(declared[name], value) for name, value in arguments.items())

    def is_too_large(self, step: Json) -> bool:
        """Compare the raw result with the hard limit, where the two ways to measure agree."""
        limit = self.limits.get("result_bytes")
        if limit is None:
            return False
        if "raw_size" in step:
            return bool(step["raw_size"] > limit)
        low, size, high = self.measures(step)
        if (low > limit) != (high > limit) and self.alt("HOW_RESULTS_ARE_MEASURED"):
            return bool(size <= limit)
        return bool(size > limit)

    def measures(self, step: Json) -> tuple[int, int, int]:
        """Return the least, the likely and the most bytes that a raw result may count."""
        raw = step.get("raw", step.get("malformed", step.get("facts")))
        if isinstance(raw, str):
            return size_of(raw), size_of(raw), len(json.dumps(raw))
        compact = size_of(json.dumps(raw, ensure_ascii=False, separators=(",", ":")))
        low = compact
        if "facts" in step and "raw" not in step:
            low = sum(map(size_of, texts_of(step["facts"])))
        high = len(json.dumps(raw)) + 64 * (len(raw) if isinstance(raw, list) else 1)
        return (0 if raw is None else low), compact, high

    def project(self, step: Json) -> list[str] | None:
        """Return the fact texts, bounded; nothing where the projection fails."""
        if "projection_fails" in step or not is_strict(step.get("raw", step.get("malformed"))):
            return None
        if "malformed" in step:
            raw = step["malformed"]
            is_text = isinstance(raw, str)
            is_list = isinstance(raw, list) and all(isinstance(item, str) for item in raw)
            if not (is_text or is_list or raw is None) or self.alt("TOOL_MALFORMED_BUT_USABLE"):
                return None
            texts = [raw] if is_text else list(raw or [])
        elif "facts" in step:
            texts = texts_of(step["facts"])
        else:
            texts = ["x" * step["raw_size"]] if self.alt("RAW_SIZE_WITHOUT_FACTS") else []
        return self.bound(texts)

    def bound(self, texts: list[str]) -> list[str]:
        """Drop blank facts; cut too many and too long ones."""
        found = [arrived(text) for text in texts]
        most = self.limits.get("facts_per_result")
        longest = self.limits.get("fact_bytes")
        kept = [text for text in found if not is_blank(text)]
        if most is not None:
            first = [text for text in found[:most] if not is_blank(text)]
            if first != kept[:most] and self.alt("BLANKS_AND_FACTS_PER_RESULT"):
                kept = first
            kept = kept[:most]
        if longest is not None:
            kept = [text.encode()[:longest].decode(errors="ignore") for text in kept]
            if longest and any(is_blank(text) for text in kept):
                self.alt("CUT_TO_BLANK")
            kept = [text for text in kept if not is_blank(text)]
        return kept

    def finish_call(self, call: Json, code: str | None, texts: Iterable[str] = ()) -> None:
        """Make the row and the record; save the record and read it back."""
        scope, tool = call.get("scope", {}), call["tool"]
        key = json.dumps([tool, scope, call.get("arguments", {})], sort_keys=True)
        repeats = key in self.answered
        facts = []
        for text in texts:
            facts.append(Fact(text, is_new=not repeats and text not in self.seen))
            self.seen.add(text)
        is_saved = self.save()
        if not is_saved or not self.load():
            self.read_backs += is_saved
            if code and self.alt("ERROR_RECORD_NOT_STORED"):
                self.rows.append(Row(tool, scope, "ERROR", code, ()))
                if code == "RESULT_TOO_LARGE":
                    raise EndedError("RESULT_TOO_LARGE")
            else:
                self.rows.append(Row(tool, scope, "ERROR", "STORE_FAILED", ()))
            if is_saved and facts and self.alt("BYTES_OF_A_FAILED_READ_BACK"):
                self.evidence_bytes += sum(size_of(fact.text) for fact in facts)
            raise EndedError("STORE_UNTRUSTED")
        self.read_backs += 1
        self.trace.append("RECORD_SAVED")
        self.rows.append(Row(tool, scope, "ERROR" if code else "READY", code, tuple(facts)))
        self.evidence_bytes += sum(size_of(fact.text) for fact in facts)
        if code is None:
            self.answered.add(key)

    def save(self) -> bool:
        """Save a record; whether the store took it."""
        self.saves += 1
        return str(self.saves) not in self.scenario.get("canonical_store", {}).get("save", {})

    def load(self) -> bool:
        """Read a record back; whether it came back as it was."""
        self.loads += 1
        return str(self.loads) not in self.scenario.get("canonical_store", {}).get("load", {})

    def has_later_load_fault(self) -> bool:
        """Whether a load after the read-backs is scripted to fail."""
        faults = self.scenario.get("canonical_store", {}).get("load", {})
        return any(int(number) > self.read_backs for number in faults)
