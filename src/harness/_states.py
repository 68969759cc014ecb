"""The vocabulary: every state, cause and kind that the contract names (section 2), as enums."""

from enum import Enum, unique

__all__ = [
    "AttemptOutcome",
    "CollectionState",
    "Component",
    "Dimension",
    "EventKind",
    "EvidenceStatus",
    "FailureKind",
    "FallbackType",
    "Intent",
    "InvocationCode",
    "InvocationStatus",
    "LimitationKind",
    "OnDisconnect",
    "Progress",
    "ProgressMode",
    "PublicKind",
    "ReleaseOutcome",
    "RequestStatus",
    "RunState",
    "SemanticVerdict",
    "StopCause",
    "StopReason",
    "TraceCode",
    "UsageKind",
    "ViolationKind",
]


class _Word(Enum):
    """
    A word of the vocabulary.
    """

    # members are singletons, so identity hashes them, at a fraction of the inherited cost
    __hash__ = object.__hash__


@unique
class InvocationStatus(_Word):
    """
    Did this invocation work? Owned by the tool step (section 3.5).
    """

    #: Under way: executed, measured or projected.
    PROJECTING = "PROJECTING"
    #: Finished; its canonical record can be read and cited.
    READY = "READY"
    #: Finished without a usable result; the row carries a stable code.
    ERROR = "ERROR"


@unique
class EvidenceStatus(_Word):
    """
    Did this scope hold candidate evidence? Owned by the tool step (section 3.5).
    """

    #: At least one fact.
    EVIDENCE_FOUND = "EVIDENCE_FOUND"
    #: This scope is empty; never "the problem does not exist".
    NO_EVIDENCE = "NO_EVIDENCE"
    #: The invocation failed, so nothing is known about the scope.
    ERROR = "ERROR"


@unique
class InvocationCode(_Word):
    """
    The stable code of an ``ERROR`` row (section 3.5): a cause of the harness, or a failure kind.
    """

    #: No tool of that name is configured.
    UNKNOWN_TOOL = "UNKNOWN_TOOL"
    #: The tool's declared parameters refuse the arguments.
    INVALID_ARGUMENTS = "INVALID_ARGUMENTS"
    #: The result could not be turned into facts.
    PROJECTION_FAILED = "PROJECTION_FAILED"
    #: The raw result exceeds the hard limit; the run stops.
    RESULT_TOO_LARGE = "RESULT_TOO_LARGE"
    #: The canonical store failed, or gave back something else.
    STORE_FAILED = "STORE_FAILED"
    #: The tool timed out by itself.
    TIMEOUT = "TIMEOUT"
    #: The tool could not reach its source.
    TRANSPORT = "TRANSPORT"
    #: The source asked to slow down.
    RATE_LIMITED = "RATE_LIMITED"
    #: The tool said that its source answered nonsense.
    INVALID_OUTPUT = "INVALID_OUTPUT"
    #: The source has no capacity.
    CAPACITY = "CAPACITY"
    #: The source refused the request.
    REJECTED = "REJECTED"
    #: The tool raised something nobody classified.
    UNCLASSIFIED = "UNCLASSIFIED"


@unique
class Progress(_Word):
    """
    Did the last batch move the diagnosis? Stated by the agent, checked by the harness.
    """

    #: The batch brought at least one new fact.
    GAINED = "GAINED"
    #: It did not.
    NO_GAIN = "NO_GAIN"


@unique
class ProgressMode(_Word):
    """
    Who says whether a batch was progress (section 3.6).
    """

    #: The agent states it, the harness checks the statement.
    REPORTED = "REPORTED"
    #: The harness derives it from new facts.
    INFERRED = "INFERRED"


@unique
class CollectionState(_Word):
    """
    May evidence tools still run? Owned by collection (section 3.6).
    """

    #: Tools may run.
    COLLECTING = "COLLECTING"
    #: No more tools; the agent has not been told yet.
    SATURATED = "SATURATED"
    #: The agent was told once to draft.
    DRAFTING = "DRAFTING"
    #: A draft was handed in.
    RELEASE = "RELEASE"
    #: The agent asked for tools again after it was told to stop.
    TERMINATED = "TERMINATED"


@unique
class StopReason(_Word):
    """
    Why may no more tools run? In the order of precedence (section 3.6).
    """

    #: Too many wrong or missing progress statements.
    PROGRESS_PROTOCOL_VIOLATED = "PROGRESS_PROTOCOL_VIOLATED"
    #: Too many batches in a row without new evidence.
    INFORMATION_SATURATED = "INFORMATION_SATURATED"
    #: Tool calls, evidence bytes or the release reserve ran out.
    BUDGET_LIMIT_REACHED = "BUDGET_LIMIT_REACHED"


@unique
class RunState(_Word):
    """
    Why did execution stop? Owned by the lifecycle (section 3.1).
    """

    #: Not ended yet.
    RUNNING = "RUNNING"
    #: The request was handled safely.
    SUCCESS = "SUCCESS"
    #: A terminal fault, or nothing that could be released.
    FAILED = "FAILED"
    #: Cancelled by the caller, the client's leaving or an interrupt.
    CANCELLED = "CANCELLED"
    #: The deadline passed.
    TIMED_OUT = "TIMED_OUT"
    #: A budget without a soft stop ran out.
    BUDGET_EXHAUSTED = "BUDGET_EXHAUSTED"


@unique
class StopCause(_Word):
    """
    The exact cause behind the run state (section 4).
    """

    #: Both gates passed.
    REPORT_APPROVED = "REPORT_APPROVED"
    #: A general request was answered.
    REPLY_GIVEN = "REPLY_GIVEN"
    #: Required context is missing and named.
    MISSING_REQUIRED_CONTEXT = "MISSING_REQUIRED_CONTEXT"
    #: The agent said that it has no conclusion.
    NO_CONCLUSION = "NO_CONCLUSION"
    #: The agent asked for tools after ``STOP_REQUIRED``.
    STOP_IGNORED = "STOP_IGNORED"
    #: The agent's turn or draft was malformed.
    INVALID_DRAFT = "INVALID_DRAFT"
    #: The evidence guard refused the draft finally.
    EVIDENCE_REJECTED = "EVIDENCE_REJECTED"
    #: The semantic guard found the draft unsupported.
    SEMANTIC_UNSUPPORTED = "SEMANTIC_UNSUPPORTED"
    #: The semantic guard gave no verdict.
    SEMANTIC_UNAVAILABLE = "SEMANTIC_UNAVAILABLE"
    #: The intent router gave no route.
    ROUTER_UNAVAILABLE = "ROUTER_UNAVAILABLE"
    #: The responder gave no reply.
    RESPONDER_UNAVAILABLE = "RESPONDER_UNAVAILABLE"
    #: The agent failed technically.
    AGENT_UNAVAILABLE = "AGENT_UNAVAILABLE"
    #: A tool result, a draft or a reply exceeds its hard limit.
    RESULT_TOO_LARGE = "RESULT_TOO_LARGE"
    #: The canonical store failed or gave back something else.
    STORE_UNTRUSTED = "STORE_UNTRUSTED"
    #: The run could not be opened in the run store. As a failure code: its record was not saved.
    RECORD_NOT_SAVED = "RECORD_NOT_SAVED"
    #: A fault of the harness itself, of a clock or of an id source.
    INTERNAL_ERROR = "INTERNAL_ERROR"
    #: The deadline passed.
    DEADLINE_EXCEEDED = "DEADLINE_EXCEEDED"
    #: A budget without a soft stop ran out.
    BUDGET_EXHAUSTED = "BUDGET_EXHAUSTED"
    #: The caller's token was cancelled.
    CANCELLED_BY_CALLER = "CANCELLED_BY_CALLER"
    #: The client went away.
    CLIENT_DISCONNECTED = "CLIENT_DISCONNECTED"
    #: A host object raised an exception that is no ``Exception``.
    INTERRUPTED = "INTERRUPTED"


@unique
class ReleaseOutcome(_Word):
    """
    What became public? Owned by the release policy (section 3.9).
    """

    #: The approved report, or the reply.
    SUCCESS = "SUCCESS"
    #: A fallback written from the safe snapshot.
    FALLBACK = "FALLBACK"
    #: A failure with a stable code.
    FAILED = "FAILED"
    #: Nothing.
    CANCELLED = "CANCELLED"


@unique
class FallbackType(_Word):
    """
    Why a fallback and not the report? Owned by the release policy (section 3.9).
    """

    #: Context is missing, and named.
    MISSING_REQUIRED_CONTEXT = "MISSING_REQUIRED_CONTEXT"
    #: What could be checked was checked; it carries no conclusion.
    INSUFFICIENT_EVIDENCE = "INSUFFICIENT_EVIDENCE"
    #: The draft's citations did not hold.
    EVIDENCE_VALIDATION_FAILED = "EVIDENCE_VALIDATION_FAILED"
    #: The draft was judged unsupported.
    SEMANTIC_UNSUPPORTED = "SEMANTIC_UNSUPPORTED"
    #: Nobody could judge the draft.
    SEMANTIC_UNAVAILABLE = "SEMANTIC_UNAVAILABLE"
    #: A budget ran out. Reserved: written only with ``ReleasePolicy(distinguish_budget=True)``.
    BUDGET_EXHAUSTED = "BUDGET_EXHAUSTED"


@unique
class RequestStatus(_Word):
    """
    Was the request handled safely? The host's database row (section 3.11).
    """

    #: Not ended yet.
    RUNNING = "RUNNING"
    #: A report, a reply or a fallback was released.
    SUCCESS = "SUCCESS"
    #: Only a failure was released.
    FAILED = "FAILED"
    #: Nothing was released: cancelled.
    CANCELLED = "CANCELLED"


@unique
class EventKind(_Word):
    """
    What the client receives (section 3.10).
    """

    #: The run's id, first.
    METADATA = "METADATA"
    #: A stage name and counts.
    STATUS = "STATUS"
    #: The report, the reply or the fallback; at most once.
    CONTENT = "CONTENT"
    #: A stable failure code; never beside ``CONTENT``.
    FAILURE = "FAILURE"
    #: The release outcome, last.
    DONE = "DONE"


@unique
class FailureKind(_Word):
    """
    A technical failure of a provider or tool, classified once at the boundary (section 3.2).
    """

    #: It did not answer in its own time.
    TIMEOUT = "TIMEOUT"
    #: It could not be reached.
    TRANSPORT = "TRANSPORT"
    #: It asked to slow down.
    RATE_LIMITED = "RATE_LIMITED"
    #: It answered something that is no answer.
    INVALID_OUTPUT = "INVALID_OUTPUT"
    #: It has no capacity.
    CAPACITY = "CAPACITY"
    #: It refused: wrong key, wrong model, forbidden.
    REJECTED = "REJECTED"
    #: Nobody classified it; not retried.
    UNCLASSIFIED = "UNCLASSIFIED"


@unique
class Component(_Word):
    """
    Who made the attempt (section 3.2).
    """

    #: Routes the request.
    INTENT_ROUTER = "INTENT_ROUTER"
    #: Answers a general request.
    RESPONDER = "RESPONDER"
    #: Takes the turns of a diagnosis.
    DIAGNOSIS_AGENT = "DIAGNOSIS_AGENT"
    #: Queries a source.
    TOOL = "TOOL"
    #: Repairs a draft once.
    EVIDENCE_REPAIR = "EVIDENCE_REPAIR"
    #: Judges the visible text against the cited facts.
    SEMANTIC_GUARD = "SEMANTIC_GUARD"


@unique
class AttemptOutcome(_Word):
    """
    What came of one attempt (section 3.2).
    """

    #: It returned a proper answer.
    SUCCEEDED = "SUCCEEDED"
    #: It failed; the attempt carries the failure kind.
    FAILED = "FAILED"
    #: It raised an exception that is no ``Exception``.
    INTERRUPTED = "INTERRUPTED"


@unique
class UsageKind(_Word):
    """
    What an attempt said of its usage (section 3.3).
    """

    #: A usable usage was reported.
    REPORTED = "REPORTED"
    #: Nothing was reported.
    UNKNOWN = "UNKNOWN"
    #: Something unusable was reported; it counts as unknown.
    INVALID = "INVALID"
    #: Tools report no usage.
    NONE = "NONE"


@unique
class Dimension(_Word):
    """
    What a budget limits beside time (section 3.3).
    """

    #: Calls of a model.
    MODEL_ATTEMPTS = "MODEL_ATTEMPTS"
    #: Calls of a tool.
    TOOL_CALLS = "TOOL_CALLS"
    #: Input and output tokens.
    TOKENS = "TOKENS"
    #: UTF-8 bytes of the stored fact texts.
    EVIDENCE_BYTES = "EVIDENCE_BYTES"
    #: Money, in a unit of the host's choice.
    COST = "COST"


@unique
class SemanticVerdict(_Word):
    """
    Does the cited evidence support the visible conclusion? Section 3.7 says what is final.
    """

    #: It does.
    SUPPORTED = "SUPPORTED"
    #: It does not; final.
    UNSUPPORTED = "UNSUPPORTED"


@unique
class ViolationKind(_Word):
    """
    What is wrong with a citation (section 3.7).
    """

    #: A visible text cites nothing.
    UNCITED = "UNCITED"
    #: No record has that id.
    UNKNOWN_INVOCATION = "UNKNOWN_INVOCATION"
    #: The record belongs to another run.
    FOREIGN_RUN = "FOREIGN_RUN"
    #: The invocation ended in ``ERROR``.
    NOT_READY = "NOT_READY"
    #: The record has no fact of that number.
    UNKNOWN_FACT = "UNKNOWN_FACT"
    #: The quote is empty or does not stand verbatim in the fact.
    QUOTE_MISMATCH = "QUOTE_MISMATCH"


@unique
class Intent(_Word):
    """
    What the request asks for (section 3.4).
    """

    #: A diagnosis.
    DIAGNOSIS = "DIAGNOSIS"
    #: Anything else.
    GENERAL = "GENERAL"


@unique
class OnDisconnect(_Word):
    """
    What a client's leaving does to the run (section 3.10).
    """

    #: It cancels the run.
    CANCEL = "CANCEL"
    #: The run goes on; its record stays undelivered.
    DETACH = "DETACH"


@unique
class PublicKind(_Word):
    """
    What kind of public text the client got.
    """

    #: A checked report.
    REPORT = "REPORT"
    #: A reply to a general request; never a checked report.
    REPLY = "REPLY"
    #: A fallback written from the safe snapshot.
    FALLBACK = "FALLBACK"
    #: A failure with a stable code.
    FAILURE = "FAILURE"
    #: Nothing.
    NONE = "NONE"


@unique
class LimitationKind(_Word):
    """
    What an answer could not take into account (section 3.8).
    """

    #: A source was asked and failed.
    SOURCE_UNAVAILABLE = "SOURCE_UNAVAILABLE"
    #: A configured source was never asked.
    NEVER_CONSULTED = "NEVER_CONSULTED"
    #: More was found than was kept.
    TRUNCATED = "TRUNCATED"
    #: A source answered something that could not be projected.
    PROJECTION_FAILED = "PROJECTION_FAILED"
    #: Something that the report itself says it lacks.
    MISSING_CONTEXT = "MISSING_CONTEXT"


@unique
class TraceCode(_Word):
    """
    What a trace event says happened.
    """

    #: The run was opened.
    RUN_STARTED = "RUN_STARTED"
    #: An attempt was reserved and is made.
    ATTEMPT_STARTED = "ATTEMPT_STARTED"
    #: An attempt was not made: the budget has no room for it.
    ATTEMPT_REFUSED = "ATTEMPT_REFUSED"
    #: An attempt returned a proper answer.
    ATTEMPT_FINISHED = "ATTEMPT_FINISHED"
    #: An attempt failed.
    ATTEMPT_FAILED = "ATTEMPT_FAILED"
    #: A retry was due and is not made; says why.
    RETRY_SKIPPED = "RETRY_SKIPPED"
    #: A tool call was not executed; says why.
    CALL_REFUSED = "CALL_REFUSED"
    #: An invocation's canonical record was saved and read back.
    RECORD_SAVED = "RECORD_SAVED"
    #: The canonical store failed or gave back something else.
    STORE_FAILED = "STORE_FAILED"
    #: A call returned after the run had ended; used for nothing.
    LATE_RESULT_DISCARDED = "LATE_RESULT_DISCARDED"
    #: A terminal signal that came after another one.
    LATE_SIGNAL = "LATE_SIGNAL"
    #: A batch was judged for progress.
    PROGRESS_JUDGED = "PROGRESS_JUDGED"
    #: A progress statement is missing or wrong.
    PROTOCOL_VIOLATION = "PROTOCOL_VIOLATION"
    #: No more tools may run.
    COLLECTION_SATURATED = "COLLECTION_SATURATED"
    #: The agent was told to draft.
    STOP_REQUIRED = "STOP_REQUIRED"
    #: The evidence guard checked a draft.
    EVIDENCE_CHECKED = "EVIDENCE_CHECKED"
    #: The semantic guard gave a verdict.
    SEMANTIC_JUDGED = "SEMANTIC_JUDGED"
    #: Execution stopped.
    RUN_ENDED = "RUN_ENDED"
    #: What becomes public was decided.
    RELEASE_DECIDED = "RELEASE_DECIDED"
    #: The harness itself, a clock or an id source failed.
    INTERNAL_FAULT = "INTERNAL_FAULT"
    #: The run record was saved.
    RUN_SAVED = "RUN_SAVED"
    #: The run record could not be saved, or another ending stands in its place.
    RUN_NOT_SAVED = "RUN_NOT_SAVED"
    #: The client accepted the content or the failure.
    DELIVERED = "DELIVERED"
    #: The client is gone.
    CLIENT_GONE = "CLIENT_GONE"
