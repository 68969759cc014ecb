"""The independent model: it agrees with the conformance cases and keeps the laws it predicts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from tests.model import compare, generate, malformed
from tests.model.oracle import AMBIGUITIES, MalformedScenario, Prediction, predict, simulate
from tests.model.vocabulary import Json

CASES: Final = sorted((Path(__file__).parents[1] / "conformance" / "cases").glob("*.json"))
COUNT: Final = 3_000

# Section 2, 4 and legal-states.json, retyped.
CAUSES: Final = {
    "REPORT_APPROVED",
    "REPLY_GIVEN",
    "MISSING_REQUIRED_CONTEXT",
    "NO_CONCLUSION",
    "STOP_IGNORED",
    "INVALID_DRAFT",
    "EVIDENCE_REJECTED",
    "SEMANTIC_UNSUPPORTED",
    "SEMANTIC_UNAVAILABLE",
    "ROUTER_UNAVAILABLE",
    "RESPONDER_UNAVAILABLE",
    "AGENT_UNAVAILABLE",
    "RESULT_TOO_LARGE",
    "STORE_UNTRUSTED",
    "RECORD_NOT_SAVED",
    "DEADLINE_EXCEEDED",
    "BUDGET_EXHAUSTED",
    "CANCELLED_BY_CALLER",
    "CLIENT_DISCONNECTED",
    "INTERRUPTED",
}
FALLBACKS: Final = {
    "MISSING_REQUIRED_CONTEXT",
    "INSUFFICIENT_EVIDENCE",
    "EVIDENCE_VALIDATION_FAILED",
    "SEMANTIC_UNSUPPORTED",
    "SEMANTIC_UNAVAILABLE",
    "BUDGET_EXHAUSTED",
}
PAIRS: Final = {
    ("BUDGET_EXHAUSTED", "FAILED"),
    ("BUDGET_EXHAUSTED", "FALLBACK"),
    ("CANCELLED", "CANCELLED"),
    ("FAILED", "FAILED"),
    ("FAILED", "FALLBACK"),
    ("SUCCESS", "FALLBACK"),
    ("SUCCESS", "SUCCESS"),
    ("TIMED_OUT", "FAILED"),
    ("TIMED_OUT", "FALLBACK"),
}
UNSAVED_PAIRS: Final = {
    ("SUCCESS", "FAILED"),
    ("FAILED", "FAILED"),
    ("TIMED_OUT", "FAILED"),
    ("BUDGET_EXHAUSTED", "FAILED"),
    ("CANCELLED", "CANCELLED"),
}
ROWS: Final = {("READY", "EVIDENCE_FOUND"), ("READY", "NO_EVIDENCE"), ("ERROR", "ERROR")}
STREAMS: Final = {
    "SUCCESS": ["METADATA", "STATUS*", "CONTENT", "DONE"],
    "FALLBACK": ["METADATA", "STATUS*", "CONTENT", "DONE"],
    "FAILED": ["METADATA", "STATUS*", "FAILURE", "DONE"],
    "CANCELLED": ["METADATA", "STATUS*", "DONE"],
}
REQUESTS: Final = {
    "SUCCESS": "SUCCESS",
    "FALLBACK": "SUCCESS",
    "FAILED": "FAILED",
    "CANCELLED": "CANCELLED",
}


@cache
def predictions() -> tuple[tuple[Json, Prediction], ...]:
    """Return the generated scenarios with their predictions, made once."""
    made = (generate.generate(seed) for seed in range(COUNT))
    return tuple((scenario, simulate(scenario)) for scenario in made)


def observed() -> Iterator[Json]:
    """Yield what is predicted of runs whose own ending stands."""
    for _, prediction in predictions():
        if "trace" in prediction.observed:
            yield prediction.observed


def is_stated(key: str, stated: Any, predicted: Any) -> bool:  # As the keys are.
    """Whether a prediction implies what a case states."""
    if key == "events":
        return [k for k in stated.split() if k != "STATUS*"] == [
            k for k in predicted.split() if k != "STATUS*"
        ]
    if key == "trace":
        rest = iter(predicted)
        return all(code in rest for code in stated)
    if key != "public":
        return bool(stated == predicted)
    shown = predicted.get("contains", [])
    return (
        all(stated[name] == predicted[name] for name in ("kind", "code") if name in stated)
        and all(any(part in text for text in shown) for part in stated.get("contains", []))
        and not any(part in text for text in shown for part in stated.get("excludes", []))
    )


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_conformance_case_follows_from_the_model(path: Path) -> None:
    """The model predicts everything that a conformance case states."""
    scenario = json.loads(path.read_text(encoding="utf-8"))
    expected = {k: v for k, v in scenario["expect"].items() if k != "explain"}
    predicted = predict(scenario)
    wrong = {k: (v, predicted.get(k)) for k, v in expected.items() if k not in predicted}
    wrong |= {
        k: (v, predicted[k])
        for k, v in expected.items()
        if k in predicted and not is_stated(k, v, predicted[k])
    }
    assert wrong == {}


def test_every_conformance_case_is_there() -> None:
    """The copied cases are complete."""
    assert len(CASES) == 71


def test_generated_scenarios_are_the_same_for_the_same_seed() -> None:
    """A seed stands for one scenario."""
    assert [generate.generate(seed) for seed in range(50)] == [
        scenario for scenario, _ in predictions()[:50]
    ]


def test_generated_scenarios_reach_every_ending() -> None:
    """Every stop cause but the internal error, and every run and collection state, is reached."""
    seen = list(observed())
    assert {run["stop_cause"] for run in seen} == CAUSES
    assert {run["run_state"] for run in seen} == {state for state, _ in PAIRS}
    assert {run["collection_state"] for run in seen} == {
        "COLLECTING",
        "SATURATED",
        "DRAFTING",
        "RELEASE",
        "TERMINATED",
    }
    assert {run["intent"] for run in seen} == {None, "DIAGNOSIS", "GENERAL"}


def test_generated_scenarios_reach_every_release() -> None:
    """Every fallback type, legal pair, public kind and stop reason is reached."""
    seen = list(observed())
    assert {run["fallback_type"] for run in seen} == FALLBACKS | {None}
    assert {(run["run_state"], run["release_outcome"]) for run in seen if run["record_saved"]} == (
        PAIRS
    )
    assert {run["public"]["kind"] for run in seen} == {
        "REPORT",
        "REPLY",
        "FALLBACK",
        "FAILURE",
        "NONE",
    }
    assert {run["stop_reason"] for run in seen} == {None} | {
        "INFORMATION_SATURATED",
        "PROGRESS_PROTOCOL_VIOLATED",
        "BUDGET_LIMIT_REACHED",
    }


def test_generated_scenarios_reach_every_violation_and_code() -> None:
    """Every violation that a scenario can cause, and every code of an error row, is reached."""
    seen = list(observed())
    # A scenario knows no id of another run, so FOREIGN_RUN is out of its reach.
    assert {kind for run in seen for kind in run["violations"]} == {
        "UNCITED",
        "UNKNOWN_INVOCATION",
        "NOT_READY",
        "UNKNOWN_FACT",
        "QUOTE_MISMATCH",
    }
    assert {row[3] for run in seen for row in run["invocations"]} == {None} | {
        "UNKNOWN_TOOL",
        "INVALID_ARGUMENTS",
        "PROJECTION_FAILED",
        "RESULT_TOO_LARGE",
        "STORE_FAILED",
        "TIMEOUT",
        "TRANSPORT",
        "RATE_LIMITED",
        "INVALID_OUTPUT",
        "CAPACITY",
        "REJECTED",
        "UNCLASSIFIED",
    }


def test_most_generated_scenarios_have_one_reading() -> None:
    """No more than a fifth of the scenarios hang on an open reading of the contract."""
    touched = [prediction.touched for _, prediction in predictions()]
    assert sum(map(bool, touched)) < COUNT / 5
    assert set().union(*touched) <= set(AMBIGUITIES)


def test_run_state_and_release_are_a_legal_pair() -> None:
    """Run state and release outcome occur only in legal pairs."""
    for run in observed():
        pair = (run["run_state"], run["release_outcome"])
        assert pair in (PAIRS if run["record_saved"] else UNSAVED_PAIRS)


def test_success_implies_what_the_contract_says() -> None:
    """A released success is a successful run, and only an approved report goes on."""
    for run in observed():
        if run["release_outcome"] == "SUCCESS":
            assert run["stop_cause"] in {"REPORT_APPROVED", "REPLY_GIVEN"}
        if run["next_turn"]:
            assert (run["intent"], run["release_outcome"]) == ("DIAGNOSIS", "SUCCESS")
            assert run["delivered"]
        assert (run["fallback_type"] is None) == (run["release_outcome"] != "FALLBACK")
        assert run["request_status"] == REQUESTS[run["release_outcome"]]


def test_streams_keep_their_order() -> None:
    """The events are the order of the outcome, or the start of it where the client left."""
    for scenario, prediction in predictions():
        run = prediction.observed
        sent, order = run["events"].split(), STREAMS[run["release_outcome"]]
        if "trace" not in run:
            assert sent == order[: len(sent)]
        elif "CLIENT_GONE" not in run["trace"]:
            assert sent == order
        else:
            assert sent == order[: order.index(gone(scenario))]


def gone(scenario: Json) -> str:
    """Return the event at which the client of a scenario leaves, as a pattern names it."""
    at = str(scenario["client"]["disconnects_at"])
    return "STATUS*" if at == "STATUS" else at


def test_counted_limits_are_never_passed() -> None:
    """Attempts and tool calls never exceed their limit, and are counted once."""
    for scenario, prediction in predictions():
        run, limits = prediction.observed, scenario.get("limits", {})
        if "used" not in run:
            continue
        for name in ("model_attempts", "tool_calls"):
            assert run["used"][name] <= limits.get(name, run["used"][name])
        models = sum(count for name, count in run["attempts"].items() if name != "TOOL")
        assert run["used"]["model_attempts"] == models >= run["used"]["unknown_usage"]
        assert run["used"]["tool_calls"] == run["attempts"].get("TOOL", 0)


def test_rows_are_legal_pairs() -> None:
    """Invocations are ready with or without evidence, or errors with a code."""
    for run in observed():
        for _, status, evidence, code in run["invocations"]:
            assert (status, evidence) in ROWS
            assert (code is None) == (status == "READY")


def test_a_cancelled_run_publishes_nothing() -> None:
    """Cancelled on one side is cancelled on the other, and nothing is public."""
    for run in observed():
        is_cancelled = run["run_state"] == "CANCELLED"
        assert is_cancelled == (run["release_outcome"] == "CANCELLED")
        assert not is_cancelled or run["public"] == {"kind": "NONE"}


def test_a_report_has_evidence_and_no_violation() -> None:
    """An approved report was checked, judged, and rests on a record that is ready."""
    for run in observed():
        if run["stop_cause"] == "REPORT_APPROVED":
            assert run["violations"] == []
            assert run["semantic_verdict"] == "SUPPORTED"
            assert any(row[1] == "READY" for row in run["invocations"])


@pytest.mark.parametrize("reason", sorted(malformed.CHANGES))
def test_malformed_scenarios_are_refused(reason: str) -> None:
    """Unknown keys, wrong types and scripts that run dry are malformed, not guessed."""
    for seed in range(5):
        scenario = generate.generate(seed)
        malformed.CHANGES[reason](scenario)
        with pytest.raises(MalformedScenario):
            predict(scenario)


def test_every_kind_of_malformed_scenario_is_drawn() -> None:
    """The seeds reach every way to be malformed."""
    assert {malformed.malform(seed).reason for seed in range(600)} == set(malformed.CHANGES)


def test_the_comparison_names_key_and_reading() -> None:
    """A difference is named, and the open reading that explains it."""
    base = {"name": "x", "agent": [{"fail": "TIMEOUT"}], "run_store": {"finish": "raise"}}
    predicted = predict(base)
    seen = {**predicted, "public": {**predicted["public"], "text": ""}, "delivered": False}
    found = compare.differences(predicted, seen)
    assert [line.partition(":")[0] for line in found] == ["delivered"]
    assert compare.explaining(base, seen) == ["DELIVERED_WITHOUT_A_RECORD"]


def test_the_model_imports_nothing_of_the_library() -> None:
    """The model is independent: no module of it imports the library."""
    for path in Path(__file__).parent.glob("*.py"):
        if path.name != "test_oracle.py":
            assert "harness import" not in path.read_text(encoding="utf-8")
            assert "import harness" not in path.read_text(encoding="utf-8")


def test_the_generator_writes_json_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """The command writes one scenario a line, with its prediction where that is asked for."""
    assert generate.main(["3", "--seed", "7", "--with-expect", "--clear"]) == 0
    written = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [scenario["expect"] for scenario in written] == [predict(s) for s in written]
    assert generate.main(["1"]) == 0
    assert json.loads(capsys.readouterr().out) == generate.generate(0)


def test_the_comparison_reads_json_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command is silent where all agrees, and names what does not."""
    base = generate.generate(3)
    seen = predict(base)
    seen["public"] = {"code": None, **seen["public"], "text": "; ".join(shown(seen))}
    scenarios, observations = tmp_path / "scenarios.jsonl", tmp_path / "observed.jsonl"
    scenarios.write_text(json.dumps(base), encoding="utf-8")
    observations.write_text(json.dumps(seen), encoding="utf-8")
    assert compare.main([str(scenarios), str(observations)]) == 0
    observations.write_text(json.dumps({**seen, "stop_cause": "LUNCH"}), encoding="utf-8")
    assert compare.main([str(scenarios), str(observations)]) == 1
    assert "LUNCH" in capsys.readouterr().out


def shown(run: Json) -> list[str]:
    """Return the texts that a prediction demands of the public text."""
    texts: list[str] = run["public"].get("contains", [])
    return texts
