"""What can go wrong in a run: every kind of input that the format knows."""

from __future__ import annotations

from typing import Any, Final

from tests.model.runs import BLANKS, TEXTS, GoodRun
from tests.model.vocabulary import KINDS, Json

RETRYABLE: Final = ("TIMEOUT", "TRANSPORT", "RATE_LIMITED", "INVALID_OUTPUT")
ERRORS: Final = (
    ("TimeoutError", 4),
    ("ConnectionError", 3),
    ("ConnectionResetError", 2),
    ("ValueError", 3),
    ("RuntimeError", 2),
    ("OSError", 2),
    ("KeyError", 2),
    ("MemoryError", 1),
    ("RecursionError", 1),
    ("StopIteration", 1),
    ("KeyboardInterrupt", 1),
    ("SystemExit", 1),
    ("GeneratorExit", 1),
)
MESSAGE: Final = "token=s3cr3t /etc/passwd timeout"


class FaultyRun(GoodRun):
    """A good run, and the ways to spoil it."""

    def failing(self) -> Json:
        """Return a step of any component that does not succeed."""
        what = self.rng.randrange(10)
        if what < 5:  # Half of them.
            return {"fail": self.pick(*sorted(KINDS), *RETRYABLE)}
        if what < 8:  # A third.
            step: Json = {"raise": self.weighted(ERRORS)}
            if self.chance(60):
                step["message"] = MESSAGE
            return step
        return {"malformed": self.pick(7, {"verdict": "SUPPORTED"}, {"conclusion": 5}, [1, 2])}

    def router(self) -> None:
        """Let the router fail once or twice."""
        scenario = self.scenario
        first = self.failing()
        route: Json = {"intent": "DIAGNOSIS"}
        scenario["router"] = self.pick([first, route], [first, route], [first, self.failing()])
        if self.chance(20):
            scenario["router"] = [{"intent": "GENERAL"}, self.pick(route, {"intent": "GENERAL"})]
            scenario.pop("responder", None)

    def general(self) -> None:
        """Ask for no diagnosis."""
        scenario = self.scenario
        scenario["router"] = [{"intent": "GENERAL"}]
        if self.chance(4):
            scenario["router"][0]["missing_context"] = ["tenant"]
        scenario["responder"] = [self.pick(*[{"reply": "Hello."}] * 2, self.failing())]
        scenario["required_context"] = self.pick([], ["service", "tenant"])

    def context(self) -> None:
        """Leave required context out."""
        if self.chance(50):
            self.scenario["required_context"] = self.pick(["service", "time_range"], ["tenant"])
            context = self.pick({}, {"service": " "}, {"service": "payment"}, {"time_range": ""})
            self.scenario["request"] = {"question": "why?", "context": context}
        elif self.chance(50):
            self.scenario["router"] = [{"intent": "DIAGNOSIS", "missing_context": ["tenant"]}]
        else:
            self.null_draft(["time_range"])

    def last_draft(self) -> Json:
        """Return the draft of the last turn; where that fails, one that nobody will see."""
        last = self.agent[-1]
        if "calls" in last and "draft" not in last:
            self.agent.append({"draft": self.draft()})
        return self.agent[-1].get("draft") or self.draft()

    def null_draft(self, missing: list[str]) -> None:
        """Draft without a conclusion."""
        draft = self.last_draft()
        draft["conclusion"] = self.pick(None, None, "  ")
        draft["missing_context"] = missing

    def no_conclusion(self) -> None:
        """Draft neither a conclusion nor what is missing."""
        self.null_draft([])

    def agent_fails(self) -> None:
        """Let one agent turn fail."""
        at = self.rng.randrange(len(self.agent))
        self.agent[at] = self.failing()

    def illegal_turn(self) -> None:
        """Make one turn illegal: both, neither, or a blank claim."""
        at = self.rng.randrange(len(self.agent))
        turn = self.agent[at]
        if not {"calls", "draft"} & set(turn):
            return
        what = self.rng.randrange(4)
        if what == 0:
            turn.pop("calls", None)
            turn.pop("draft", None)
        elif what == 1:
            turn["draft"] = self.draft()
            turn["calls"] = turn.get("calls") or [self.call()]
        elif what == 2:  # The third of four.
            self.agent[at] = {"calls": []}
        else:
            draft = self.last_draft()
            draft["claims"].append({"text": self.pick(*BLANKS), "citations": [self.citation()]})

    def tool_fails(self) -> None:
        """Let tools fail, find nothing, or return odd values."""
        for _ in range(self.pick(1, 1, 2)):
            steps = [steps for steps in self.tools.values() if steps]
            if not steps:
                return
            chosen = self.pick(*steps)
            at = self.rng.randrange(len(chosen))
            chosen[at] = self.weighted(
                (
                    (self.failing(), 5),
                    ({"projection_fails": True}, 2),
                    ({"facts": [self.pick(*BLANKS), self.pick(*TEXTS), self.pick(*BLANKS)]}, 2),
                    ({"facts": []}, 2),
                    ({"malformed": self.pick("as text", ["a", "b"], None, [])}, 1),
                )
            )

    def bad_call(self) -> None:
        """Call an unknown tool, or a known one with bad arguments."""
        if not self.calls:
            return
        call = self.pick(*self.calls)
        if self.chance(40):
            call["tool"] = "get_logz"
            return
        kind = self.pick("str", "int", "float", "bool")
        values: Json = {"str": "a", "int": 3, "float": 1.5, "bool": True}
        self.scenario["tool_parameters"] = {call["tool"]: {"query": kind}}
        for other in self.calls:
            if other["tool"] == call["tool"]:
                other["arguments"] = {"query": values[kind]}
        bad: list[Json] = [{}, {"query": None}, {"query": values[kind], "more": 1}]
        bad += [{"query": value} for other, value in values.items() if other != kind]
        call["arguments"] = self.pick(*bad)

    def progress(self) -> None:
        """Spoil statements of progress, and tighten what they are counted against."""
        self.limits["violations"] = self.pick(1, 1, 2)
        self.limits["no_gain"] = self.pick(1, 2, 3)
        for turn in self.agent[1:]:
            if "calls" in turn and self.chance(60):
                wrong: list[Any] = [None, {"state": "GAINED", "facts": []}, {"state": "NO_GAIN"}]
                wrong += [{"state": "GAINED", "facts": [name]} for name in ("@1.1", "@9.9", "x")]
                turn["progress"] = self.pick(*wrong)
                if turn["progress"] is None:
                    del turn["progress"]

    def saturated(self) -> None:
        """Let the agent go on until it is stopped, and beyond."""
        self.limits["no_gain"] = self.pick(1, 1, 2, 3)
        for steps in self.tools.values():
            for step in steps[self.pick(0, 1) :]:
                if self.chance(70) and "facts" in step:
                    step["facts"] = []
        if self.chance(70):
            self.ignore_stop()

    def ignore_stop(self) -> None:
        """Ask for more batches where a draft was planned."""
        draft = self.agent.pop()
        for _ in range(self.pick(1, 2, 3)):
            self.batch()
        if self.chance(50):
            self.agent.append(draft)

    def stopped_short(self) -> None:
        """Stop collecting early, and let the drafting turn go wrong."""
        self.limits[self.pick("no_gain", "tool_calls")] = 1
        for steps in self.tools.values():
            steps[:] = [{"facts": []} if self.chance(50) else step for step in steps]
        what = self.rng.randrange(5)
        place = {"during": f"agent:{self.pick(2, 2, 3)}"}
        if what == 0:
            self.agent[1:] = [self.failing()]
        elif what == 1:
            self.scenario["cancel"] = place
        elif what == 2:  # The third of five.
            self.scenario["interrupt"] = place
        elif what == 3:  # The fourth of five.
            self.few_attempts()
            self.limits["model_attempts"] = self.pick(1, 1, 2)
        else:
            self.deadline()

    def budget(self) -> None:
        """Tighten one budget or two."""
        self.distinguish()
        for _ in range(self.pick(1, 1, 2)):
            self.pick(
                self.few_attempts,
                self.few_attempts,
                self.few_calls,
                self.few_calls,
                self.few_tokens,
                self.few_coins,
                self.few_bytes,
                self.reserve,
            )()

    def distinguish(self) -> None:
        """Ask for the budget to be told apart."""
        if self.chance(30):
            self.scenario["distinguish_budget"] = True

    def few_attempts(self) -> None:
        """Limit model attempts."""
        self.limits["model_attempts"] = self.pick(0, 1, 1, 2, 2, 3, 3, 4, 5)

    def few_calls(self) -> None:
        """Limit tool calls."""
        self.limits["tool_calls"] = self.pick(0, 1, 1, 2, 2, 3, 4)
        if self.chance(40) and self.agent and "draft" in self.agent[-1]:
            self.ignore_stop()

    def few_tokens(self) -> None:
        """Limit tokens about what is used."""
        self.limits["tokens"] = max(0, self.pick(0, 1, 2, 3, 4) * 10 + self.pick(-1, 0, 0, 1))
        for step in self.model_steps():
            step["usage"] = {"input_tokens": self.pick(4, 9), "output_tokens": 1}

    def few_coins(self) -> None:
        """Limit cost about what is used."""
        self.limits["cost"] = self.pick("0", "0.01", "0.02", "0.03", "1")
        for step in self.model_steps():
            step["usage"] = {"cost": self.pick("0.01", "0.01", "0.003")}

    def few_bytes(self) -> None:
        """Limit evidence bytes."""
        self.limits["evidence_bytes"] = self.pick(0, 1, 20, 31, 32, 40, 62, 90)

    def reserve(self) -> None:
        """Keep attempts back for the release."""
        self.limits["model_attempts"] = self.pick(1, 2, 3, 4, 5)
        self.limits["release_reserve"] = self.pick(0, 1, 2, 3)

    def sizes(self) -> None:
        """Bound results, facts and drafts."""
        what = self.rng.randrange(4)
        steps = [step for steps in self.tools.values() for step in steps if "facts" in step]
        if what == 0 and steps:
            self.limits["result_bytes"] = 1_000
            step = self.pick(*steps)
            step.pop("raw", None)
            step["raw_size"] = self.pick(999, 1_000, 1_001, 1_001, 5_000)
        elif what == 1:
            self.limits["fact_bytes"] = self.pick(0, 1, 5, 10, 12, 31, 40)
            if self.chance(40):
                self.limits["facts_per_result"] = self.pick(0, 1, 2)
        elif what == 2:  # The third of four.
            self.limits["facts_per_result"] = self.pick(0, 1, 1, 2)
        else:
            self.limits["draft_bytes"] = self.pick(5, 3_000, 3_000)
            if self.limits["draft_bytes"] > 5:  # The small one.
                chosen = self.pick(self.agent, self.scenario.get("repair", self.agent))
                draft = chosen[-1].get("draft", {})
                draft["recommendations"] = ["z" * self.pick(10, 9_000)]

    def deadline(self) -> None:
        """Let every step take ten, and the deadline fall on, before or after one of them."""
        every = [*self.model_steps(), *(s for steps in self.tools.values() for s in steps)]
        for step in every:
            step["takes_ms"] = 10 if self.chance(90) else 0
        about = self.rng.randrange(len(every) + 2) * 10
        self.limits["deadline_ms"] = max(0, about + self.pick(-1, 0, 0, 1))

    def during(self) -> str:
        """Name a call that is likely to be made."""
        scenario = self.scenario
        places = [f"agent:{n}" for n in range(1, len(self.agent) + 1)]
        places += [f"tool:{n}" for n in range(1, len(self.calls) + 1)]
        places += ["semantic_guard:1", "semantic_guard:1", "semantic_guard:2"]
        places += ["router:1", "router:1", "router:2"] if "router" in scenario else []
        places += ["responder:1"] if "responder" in scenario else []
        places += ["repair:1", "repair:1"] if "repair" in scenario else []
        return str(self.pick(*places))

    def cancel(self) -> None:
        """Cancel during a call."""
        self.scenario["cancel"] = {"during": self.during()}

    def interrupt(self) -> None:
        """Interrupt a call."""
        self.scenario["interrupt"] = {"during": self.during()}

    def client(self) -> None:
        """Let the client leave at an event."""
        at = self.pick("METADATA", "STATUS", "STATUS", "CONTENT", "CONTENT", "FAILURE", "DONE")
        self.scenario["client"] = {"disconnects_at": at}
        if self.chance(50):
            self.scenario["on_disconnect"] = self.pick("DETACH", "DETACH", "CANCEL")

    def canonical(self) -> None:
        """Let the canonical store fail at a call."""
        most = max(1, len(self.calls))
        number = str(self.rng.randrange(most) + 1)
        if self.chance(50):
            self.scenario["canonical_store"] = {"save": {number: "raise"}}
            return
        if self.chance(7):
            number = str(most + self.pick(1, 2))
        fault = self.pick("raise", "missing", "corrupt")
        self.scenario["canonical_store"] = {"load": {number: fault}}

    def runs(self) -> None:
        """Let the run store fail."""
        self.scenario["run_store"] = self.weighted(
            (
                ({"begin": "raise"}, 3),
                ({"finish": "raise"}, 4),
                ({"finish": "lost"}, 2),
            )
        )

    def miscite(self) -> None:
        """Break the evidence of the last draft; sometimes of the repaired one too."""
        self.spoil(self.agent[-1].get("draft"))
        if self.chance(60):
            good = self.draft()
            good["conclusion"] = "The pool was exhausted."
            self.scenario["repair"] = [{"draft": good}]
            if self.chance(40):
                self.spoil(good)
            elif self.chance(30):
                self.scenario["repair"] = [self.failing()]
            elif self.chance(10):
                good["conclusion"] = None

    def spoil(self, draft: Json | None) -> None:
        """Put a wrong citation into a draft, or take all away."""
        if draft is None:
            return
        errors = [
            {"invocation": "nope", "fact": 1},
            {"invocation": "@99"},
            {"invocation": "@1.1"},
            {"invocation": "@1", "fact": self.pick(0, 9, -1)},
            {"invocation": "@1", "fact": 1, "quote": "pool size 50 reached"},
            {"invocation": "@1", "quote": ""},
            {"invocation": " @1 "},
        ]
        for _ in range(self.pick(1, 1, 2)):
            claimed = draft["claims"][0] if draft["claims"] and self.chance(40) else draft
            if self.chance(25):
                claimed["citations"] = []
            else:
                claimed["citations"] = [*claimed["citations"], self.pick(*errors)]

    def cite_failed(self) -> None:
        """Cite what failed or was empty."""
        draft = self.agent[-1].get("draft")
        if draft is None or not self.calls:
            return
        number = self.rng.randrange(len(self.calls)) + 1
        steps = self.tools.get(self.calls[0]["tool"], []) if number == 1 else []
        if steps:
            steps[0] = self.pick({"fail": "TRANSPORT"}, {"facts": []}, {"projection_fails": True})
        draft["citations"] = [{"invocation": f"@{number}"}]

    def semantic(self) -> None:
        """Let the semantic guard refuse, fail or recover."""
        bad = self.failing()
        self.scenario["semantic_guard"] = self.pick(
            [{"verdict": "UNSUPPORTED"}, {"verdict": "SUPPORTED"}],
            [{"verdict": "UNSUPPORTED"}],
            [bad, {"verdict": "SUPPORTED"}],
            [bad, {"verdict": "UNSUPPORTED"}],
            [bad, self.failing()],
            [{"malformed": "SUPPORTED"}, {"malformed": {"verdict": "SUPPORTED"}}],
        )

    def usage(self) -> None:
        """Report usage of every kind on some model steps."""
        for step in self.model_steps():
            if self.chance(40):
                step["usage"] = self.weighted(
                    (
                        ({"input_tokens": None, "output_tokens": 5}, 4),
                        (None, 3),
                        ({"input_tokens": 5, "output_tokens": 5, "cost": "0.25"}, 6),
                        ({"input_tokens": 10**30, "output_tokens": 1}, 2),
                        ({"input_tokens": -5, "output_tokens": 1}, 1),
                        ({"input_tokens": True, "output_tokens": 1}, 1),
                        ({"input_tokens": "12"}, 1),
                        ({"cost": self.pick(*["-1", "NaN", "Infinity", "much", True])}, 1),
                        ({"cost": "123456.789"}, 2),
                        ({"output_tokens": 7}, 2),
                    )
                )
        if self.chance(1):
            self.pick(*self.model_steps())["usage"] = self.pick(*[True, "12", {}, {"cost": 1.5}])
        if self.chance(40):
            self.limits["tokens"] = self.pick(5, 10, 11, 10**30)

    def thresholds(self) -> None:
        """Move a progress threshold."""
        self.limits[self.pick("no_gain", "violations")] = self.pick(0, 1, 1, 2, 9)

    def model_steps(self) -> list[Json]:
        """Return every step of a model."""
        names = ("router", "responder", "repair", "semantic_guard")
        steps = [step for name in names for step in self.scenario.get(name, [])]
        return [*steps, *self.agent]
