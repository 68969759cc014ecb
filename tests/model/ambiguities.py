"""Where the contract can be read in two ways: the reading taken, and the other one."""

from typing import Final, NamedTuple


class Ambiguity(NamedTuple):
    """One open reading."""

    section: str
    text: str
    choice: str
    alternative: str


AMBIGUITIES: Final[dict[str, Ambiguity]] = {
    "GENERAL_WITH_MISSING_CONTEXT": Ambiguity(
        "3.4, 6",
        "a GENERAL request needs none. Missing context, found by this check or by the router, "
        "ends the run safely / refuses: a reply with missing context",
        "the router says GENERAL and names missing context: MISSING_REQUIRED_CONTEXT (the "
        "sentence makes no exception, and 6 says that such a run ends earlier)",
        "GENERAL needs none: what the router names is ignored, the responder answers",
    ),
    "BLANK_REPLY": Ambiguity(
        "3.4",
        "(nothing is said of a blank reply)",
        "it is a reply like any other",
        "INVALID_OUTPUT, so RESPONDER_UNAVAILABLE",
    ),
    "CLIENT_GONE_AT_A_DEADLINE_OF_ZERO": Ambiguity(
        "3.1, 3.10",
        "a cancel that comes after the deadline has passed is a time-out, even where nobody had"
        " noticed yet / a client that goes away before the terminal state is a cancel",
        "deadline_ms 0 and a client that leaves at METADATA or STATUS: DEADLINE_EXCEEDED "
        "(expired already when it left), nothing delivered",
        "CLIENT_DISCONNECTED",
    ),
    "INTERRUPT_WHEN_ALREADY_OVER": Ambiguity(
        "3.1",
        "every BaseException ends the run as CANCELLED / INTERRUPTED / the first terminal state"
        " wins; the earlier instant wins",
        "a step that raises KeyboardInterrupt after the deadline passed, or after a cancel, "
        "during its call: the earlier instant (DEADLINE_EXCEEDED, CANCELLED_BY_CALLER) wins",
        "INTERRUPTED",
    ),
    "CANCEL_AND_INTERRUPT": Ambiguity(
        "FORMAT cancel, interrupt",
        "the caller cancels at the start of that call / that call raises KeyboardInterrupt, at "
        "once",
        "both on one call: the cancel at its start is first, CANCELLED_BY_CALLER",
        "INTERRUPTED",
    ),
    "USAGE_EMPTY": Ambiguity(
        "3.3",
        "usage that is missing as a whole counts as unknown; an absent field of a reported "
        "usage is 0",
        "usage {} is reported, with every field absent: 0 and known",
        "unknown",
    ),
    "USAGE_NULL": Ambiguity(
        "3.3, FORMAT",
        "absent: unknown / usage: {...}",
        "usage null is the same as no usage: unknown, and the attempt succeeds",
        "a malformed scenario",
    ),
    "USAGE_NO_OBJECT": Ambiguity(
        "3.3, FORMAT",
        "Negative, NaN, bool or non-numeric usage counts as unknown / usage: {...}",
        'usage true or "12": unknown and INVALID_OUTPUT (as reported fault 4)',
        "a malformed scenario",
    ),
    "USAGE_COST_NUMBER": Ambiguity(
        "3.3, FORMAT",
        "cost (a Decimal) / cost a decimal string",
        "a JSON number as the cost of a usage is taken as it is written",
        "non-numeric or a malformed scenario",
    ),
    "USAGE_FRACTION": Ambiguity(
        "3.3",
        "non-numeric usage",
        "a fraction of a token is invalid",
        "it is a number and is counted",
    ),
    "USAGE_INFINITE": Ambiguity(
        "3.3",
        "Negative, NaN, bool or non-numeric usage",
        "Infinity is no usable number: unknown and INVALID_OUTPUT, as NaN is",
        "it is counted, and nothing can be spent after it",
    ),
    "DECIMALS_OF_COST": Ambiguity(
        "FORMAT used",
        "cost a decimal string",
        'the plain sum: 0.05 and 0.05 are "0.10"',
        'normalised: "0.1" (compare as numbers)',
    ),
    "SATURATE_WITHOUT_ROOM": Ambiguity(
        "3.3, 3.6",
        "before each turn, collection saturates if no more than the reserve is left / "
        "tool_calls 0 / model_attempts running out ends the run",
        "saturation is looked at before the attempt is reserved: the run ends BUDGET_EXHAUSTED "
        "with collection SATURATED, BUDGET_LIMIT_REACHED, though no turn could be made",
        "the attempt is reserved first: the run ends with COLLECTING and no stop reason",
    ),
    "THRESHOLD_OF_ZERO": Ambiguity(
        "3.3, 3.6",
        "0 means none at all / Consecutive NO_GAIN reaching the limit",
        "no_gain 0 and violations 0: the first NO_GAIN or violation reaches the limit (as 1 does)",
        "reached from the start: saturated before the first turn",
    ),
    "SATURATED_WITHIN_BATCH": Ambiguity(
        "3.3",
        "as soon as the limit is reached, or a requested batch does not fit whole, collection "
        "becomes SATURATED / an admitted batch runs to its end",
        "a run that ends in the middle of the batch that spends the last tool call (or does not"
        " fit, or reaches evidence_bytes) leaves COLLECTING and no stop reason: reasons are "
        "looked at when a batch has ended",
        "SATURATED, BUDGET_LIMIT_REACHED from the moment of admission",
    ),
    "SPENT_AND_WITHOUT_GAIN": Ambiguity(
        "3.6",
        "Where several reasons hold at once, the first of: PROGRESS_PROTOCOL_VIOLATED, "
        "INFORMATION_SATURATED, BUDGET_LIMIT_REACHED",
        "a batch that spends the last tool call (or does not fit, or reaches evidence_bytes) "
        "and is the last allowed NO_GAIN: at its end both hold, INFORMATION_SATURATED (so "
        "STOP_IGNORED)",
        "the budget ran out first, at admission: BUDGET_LIMIT_REACHED (so BUDGET_EXHAUSTED)",
    ),
    "EMPTY_CALLS_BESIDE_DRAFT": Ambiguity(
        "3.6",
        "A turn with both calls and a draft, or with neither",
        "calls [] beside a draft are no calls: a legal draft (calls [] alone: neither, illegal)",
        "both keys are there: INVALID_OUTPUT",
    ),
    "COLLECTION_STATE_OF_A_LARGE_DRAFT": Ambiguity(
        "3.6, 3.7",
        "A draft leads to RELEASE / Too large: RESULT_TOO_LARGE",
        "a draft that is too large is a draft: RELEASE (a malformed one is INVALID_OUTPUT, no "
        "draft: the state stays)",
        "the state stays as it was",
    ),
    "WHOLE_NUMBER_FOR_FLOAT": Ambiguity(
        "3.5, FORMAT tool_parameters",
        "arguments that the tool's declared parameters refuse",
        "a whole number is accepted for float; true is accepted for bool only",
        "refused: INVALID_ARGUMENTS",
    ),
    "RAW_SIZE_WITHOUT_FACTS": Ambiguity(
        "3.5, FORMAT",
        "a raw result of n bytes",
        "a raw_size step without facts projects to no facts: NO_EVIDENCE",
        "it is n bytes of text, which project by themselves to one fact",
    ),
    "TOOL_MALFORMED_BUT_USABLE": Ambiguity(
        "3.5, FORMAT",
        "returns that value where a proper result was due / text, an iterable of texts or "
        "facts, or nothing is projected by itself",
        "malformed text, list of texts or null of a tool is projected by itself",
        "PROJECTION_FAILED like every other malformed value",
    ),
    "HOW_RESULTS_ARE_MEASURED": Ambiguity(
        "3.5, FORMAT",
        "bytes of its UTF-8/JSON encoding",
        "text by its UTF-8 bytes, all else as compact UTF-8 JSON of the raw value (for a facts "
        "step: of the list of facts as written)",
        "any other measure: only results far from the limit are predicted surely",
    ),
    "BLANKS_AND_FACTS_PER_RESULT": Ambiguity(
        "3.5",
        "More facts than the bounds allow are cut / facts are numbered from 1 after blank ones "
        "were dropped",
        "blank facts are dropped before they are counted against facts_per_result",
        "the bound is applied first",
    ),
    "CUT_TO_BLANK": Ambiguity(
        "3.5",
        "Facts that are empty or blank are not facts",
        "a fact that is blank after it was cut to fact_bytes is dropped too",
        "(depends on the order of cutting, counting and dropping)",
    ),
    "ERROR_RECORD_NOT_STORED": Ambiguity(
        "3.5",
        "A failed save or read-back marks its own invocation ERROR + ERROR too / codes of an "
        "ERROR row",
        "the record of an invocation that had failed already (or was too large) cannot be "
        "saved: code STORE_FAILED, cause STORE_UNTRUSTED",
        "it keeps its first code, and RESULT_TOO_LARGE stays the cause",
    ),
    "BYTES_OF_A_FAILED_READ_BACK": Ambiguity(
        "3.3, 3.5",
        "evidence_bytes counts the UTF-8 bytes of the fact texts that were stored",
        "a record that was saved but not read back counts no bytes",
        "it was stored: its bytes count",
    ),
    "LOADS_AFTER_THE_READ_BACKS": Ambiguity(
        "3.5, 3.7, 3.8, FORMAT canonical_store",
        "the guard reads the canonical records from the store / the snapshot is read back / "
        "keyed by invocation number",
        "after the read-backs: each check loads every distinct cited record once, the snapshot "
        "every READY record once (also for a report, not for CANCELLED or broken trust); a "
        "fault in the guard is STORE_UNTRUSTED, in the snapshot the cause stays and the release"
        " fails (run state SUCCESS becomes FAILED: no other pair is legal, even for "
        "REPORT_APPROVED)",
        "any other number of loads per step",
    ),
    "HOW_DRAFTS_ARE_MEASURED": Ambiguity(
        "3.7",
        "Too large: RESULT_TOO_LARGE",
        "draft_bytes counts the compact UTF-8 JSON of the whole draft",
        "any other measure: only drafts far from the limit are predicted surely",
    ),
    "BLANK_CLAIM_AND_TOO_LARGE": Ambiguity(
        "3.7",
        "Too large: RESULT_TOO_LARGE. Malformed: INVALID_DRAFT",
        "a draft that is both is INVALID_DRAFT",
        "RESULT_TOO_LARGE",
    ),
    "REPAIRED_DRAFT_TOO_LARGE": Ambiguity(
        "3.7",
        "Too large: RESULT_TOO_LARGE / or the repair failed: EVIDENCE_REJECTED",
        "a repaired draft that is too large is RESULT_TOO_LARGE",
        "a failed repair: EVIDENCE_REJECTED",
    ),
    "REPAIRED_TO_NO_CONCLUSION": Ambiguity(
        "3.7",
        "conclusion=None is the protocol's way to say no conclusion / returns a new draft, "
        "which is checked again",
        "a repaired draft without conclusion is NO_CONCLUSION (or MISSING_REQUIRED_CONTEXT)",
        "a failed repair: EVIDENCE_REJECTED",
    ),
    "MORE_THAN_ONE_FAULT": Ambiguity(
        "3.7",
        "Every violation is named with its kind",
        "each citation is named with the first rule that it breaks, in the order of the text",
        "with every rule that it breaks (an errored invocation cited with a fact: NOT_READY and"
        " UNKNOWN_FACT)",
    ),
    "FACT_BELOW_ONE": Ambiguity(
        "3.7",
        "its fact exists",
        "fact 0 or -1 is a citation of a fact that does not exist: UNKNOWN_FACT",
        "it is no citation: the draft is malformed",
    ),
    "BLANK_QUOTE": Ambiguity(
        "3.7",
        "its quote is not empty and stands verbatim in that fact",
        "a quote of one space that stands in the fact is a quote",
        "blank is empty: QUOTE_MISMATCH",
    ),
    "STREAM_OF_AN_UNOPENED_RUN": Ambiguity(
        "3.10",
        "the run is opened in the run store before METADATA; one STATUS follows METADATA at once",
        "begin failed: METADATA, STATUS, FAILURE, DONE (a client that leaves at STATUS gets "
        "METADATA alone)",
        "no STATUS is sent",
    ),
    "FINISH_OF_AN_UNOPENED_RUN": Ambiguity(
        "3.10",
        "begin failed, and finish is scripted to fail or be lost",
        "finish is not tried",
        "finish is tried: lost gives the stored ending",
    ),
    "DELIVERED_WITHOUT_A_RECORD": Ambiguity(
        "3.10",
        "Once CONTENT or FAILURE was accepted by the client, mark_delivered says so",
        "a FAILURE that was accepted is delivered, though the record was not saved",
        "nothing to mark: delivered is false",
    ),
    "CANCELLED_WITHOUT_A_RECORD": Ambiguity(
        "3.10",
        "If saving fails nothing but a failure is published / a cancelled run whose client is "
        "still there gets DONE(CANCELLED) alone",
        "cancelled, and finish raises: DONE(CANCELLED) alone, release CANCELLED (a legal pair)",
        "the stream closes without DONE",
    ),
    "RECORD_SAVED_WHEN_LOST": Ambiguity(
        "3.10",
        "run returns the stored record",
        "finish lost: record_saved is true (the returned record is the stored one); what the "
        "stored record holds beside its ending is not predicted",
        "false: this process saved nothing",
    ),
}
