"""The evidence guard: deterministic, no model (section 3.7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from harness._json import measure
from harness._records import CanonicalRecord, CitedSource, QueriedScope, SemanticCase, Violation
from harness._states import ViolationKind
from harness._values import Citation, DiagnosisDraft, Fact

__all__ = ["check_evidence", "cited_ids", "cited_sources", "is_too_large", "semantic_case"]


def _visible(draft: DiagnosisDraft) -> Iterator[tuple[str, tuple[Citation, ...]]]:
    """
    Give each visible text that must cite, as its place and its citations.
    """
    yield "conclusion", draft.citations
    for number, claim in enumerate(draft.claims, 1):
        yield f"claims[{number}]", claim.citations


def _citations(draft: DiagnosisDraft) -> Iterator[Citation]:
    for _, citations in _visible(draft):
        yield from citations


def cited_ids(draft: DiagnosisDraft) -> tuple[str, ...]:
    """
    Give the ids that a draft cites, each once, in order.
    """
    return tuple(dict.fromkeys(citation.invocation_id for citation in _citations(draft)))


def check_evidence(
    draft: DiagnosisDraft, records: Mapping[str, CanonicalRecord], run_id: str
) -> tuple[Violation, ...]:
    """
    Check every citation of a draft against the canonical records.

    Pure: reads nothing but its arguments. Ids are compared literally.

    Args:
        draft: A draft with a conclusion.
        records: What the store gave for the cited ids; an id it does not know is left out.
        run_id: The run that may be cited.

    Returns:
        Every violation, in the order of the text; none means that the draft passes.
    """
    found: list[Violation] = []
    for where, citations in _visible(draft):
        if not citations:
            found.append(Violation(ViolationKind.UNCITED, where))
        for number, citation in enumerate(citations, 1):
            kind = _violated(citation, records.get(citation.invocation_id), run_id)
            if kind is not None:
                found.append(Violation(kind, where, number, citation.invocation_id))
    return tuple(found)


def _violated(
    citation: Citation, record: CanonicalRecord | None, run_id: str
) -> ViolationKind | None:
    """
    Name the first rule that one citation breaks.
    """
    if record is None:
        return ViolationKind.UNKNOWN_INVOCATION
    if record.invocation.run_id != run_id:
        return ViolationKind.FOREIGN_RUN
    if not record.invocation.is_ready:
        return ViolationKind.NOT_READY
    facts = record.facts
    if citation.fact_id is not None:
        if not 1 <= citation.fact_id <= len(facts):
            return ViolationKind.UNKNOWN_FACT
        facts = (facts[citation.fact_id - 1],)
    quote = citation.quote
    if quote is not None and (not quote or not any(quote in fact.text for fact in facts)):
        return ViolationKind.QUOTE_MISMATCH
    return None


def _cited_facts(
    draft: DiagnosisDraft, records: Mapping[str, CanonicalRecord]
) -> Iterator[tuple[CanonicalRecord, int, Fact]]:
    """
    Give the cited facts of a draft that passed, each once.
    """
    seen: set[tuple[str, int]] = set()
    for citation in _citations(draft):
        record = records[citation.invocation_id]
        numbers = _numbers(citation, record)
        for number in numbers:
            if (citation.invocation_id, number) not in seen:
                seen.add((citation.invocation_id, number))
                yield record, number, record.facts[number - 1]


def _numbers(citation: Citation, record: CanonicalRecord) -> range | tuple[int, ...]:
    """
    Which facts a citation cites: the one it names, those that hold its quote, or all.
    """
    if citation.fact_id is not None:
        return (citation.fact_id,)
    if citation.quote is not None:
        quote = citation.quote
        return tuple(n for n, fact in enumerate(record.facts, 1) if quote in fact.text)
    return range(1, len(record.facts) + 1)


def semantic_case(draft: DiagnosisDraft, records: Mapping[str, CanonicalRecord]) -> SemanticCase:
    """
    Gather what the semantic guard sees: all visible text and exactly the cited facts.

    Args:
        draft: A draft that passed the evidence guard.
        records: The cited records.
    """
    empty = [records[i].invocation for i in cited_ids(draft) if not records[i].facts]
    return SemanticCase(
        conclusion=draft.conclusion or "",
        claims=tuple(claim.text for claim in draft.claims),
        recommendations=draft.recommendations,
        facts=tuple(fact for _, _, fact in _cited_facts(draft, records)),
        empty_scopes=tuple(QueriedScope(row.tool, row.scope) for row in empty),
    )


def cited_sources(
    draft: DiagnosisDraft, records: Mapping[str, CanonicalRecord]
) -> tuple[CitedSource, ...]:
    """
    Resolve a released report's citations to the places they stand at, each once.
    """
    sources = [
        CitedSource(record.invocation.tool, fact.source, fact.text, record.invocation_id, number)
        for record, number, fact in _cited_facts(draft, records)
    ]
    for invocation_id in cited_ids(draft):
        record = records[invocation_id]
        if not record.facts:
            sources.append(CitedSource(record.invocation.tool, "", "", invocation_id))
    return tuple(sources)


def is_too_large(draft: DiagnosisDraft, limit: int | None) -> bool:
    """
    Whether a draft exceeds a limit, in bytes of its JSON encoding (section 3.7).

    Args:
        draft: The draft.
        limit: The limit, or ``None``.
    """
    if limit is None or _most_bytes(draft) <= limit:
        return False
    encoded = {
        "conclusion": draft.conclusion,
        "citations": [_citation(citation) for citation in draft.citations],
        "claims": [
            {"text": claim.text, "citations": [_citation(c) for c in claim.citations]}
            for claim in draft.claims
        ],
        "recommendations": draft.recommendations,
        "missing_context": draft.missing_context,
    }
    return measure(encoded, limit) > limit


#: What a character takes at the most, as an escape; and what an entry takes beside its texts.
_PER_CHARACTER: Final = 6
_PER_ENTRY: Final = 80


def _most_bytes(draft: DiagnosisDraft) -> int:
    """
    Bound a draft's encoding from above, without encoding it: most drafts are far below the limit.
    """
    texts = [draft.conclusion or "", *draft.recommendations, *draft.missing_context]
    texts += [claim.text for claim in draft.claims]
    for citation in _citations(draft):
        texts.append(citation.invocation_id)
        texts.append(citation.quote or "")
    return _PER_ENTRY * (len(texts) + 2) + _PER_CHARACTER * sum(map(len, texts))


def _citation(citation: Citation) -> dict[str, object]:
    given = {"fact": citation.fact_id, "quote": citation.quote}
    return {
        "invocation": citation.invocation_id,
        **{key: value for key, value in given.items() if value is not None},
    }
