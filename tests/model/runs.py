"""A run in which nothing goes wrong, drawn from a seed."""

from __future__ import annotations

import json
import random
from typing import Any, Final

from tests.model.vocabulary import Json

TOOLS: Final = ("logs", "metrics", "config", "deploys")
TEXTS: Final = (
    "pool size 5 reached, 37 waiters",
    "checkout p99 4.2 s at 10:04",
    "deploy 812 at 09:58",
    "timeouts rose from 0 to 41",
    "retry storm on node 7",
    "disk 91 percent full",
    "größe überschritten 12",
    "日本語のログ 500",
    "boom 💥 at 10:05",
    "cut \ud800 here",
    "# heading [link](http://x) <b>bold</b>",
    "line one\nevent: done\ndata: {}",
    "   padded   ",
    "y" * 120,
)
BLANKS: Final = ("", "   ", "\n\t")
CONCLUSIONS: Final = (
    "The connection pool was exhausted.",
    "It was the DNS.",
    "Deploy 812 broke checkout.",
)


class GoodRun:
    """One scenario in the making: tools, batches and a draft that cites what they find."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(f"scenario {seed}")  # noqa: S311  # No secret: a test input.
        self.scenario: Json = {"name": f"generated-{seed}"}
        self.limits: Json = {}
        self.agent: list[Json] = []
        self.tools: dict[str, list[Json]] = {}
        # What the planned calls will find, if nothing gets in their way.
        self.found: list[list[str]] = []
        self.batches: list[range] = []
        self.calls: list[Json] = []

    def chance(self, percent: float) -> bool:
        """Say yes in so many of a hundred cases."""
        return self.rng.random() * 100 < percent

    def pick(self, *values: Any) -> Any:  # As the values are.
        """Choose one of the values."""
        return self.rng.choice(values)

    def weighted(self, pairs: tuple[tuple[Any, int], ...]) -> Any:  # Likewise.
        """Choose one of the values by weight."""
        return self.rng.choices([a for a, _ in pairs], [b for _, b in pairs])[0]

    def fact_texts(self) -> list[str]:
        """Draw the texts that one call finds."""
        count = self.weighted(((0, 12), (1, 50), (2, 26), (3, 12)))
        return [self.pick(*TEXTS) for _ in range(count)]

    def fact(self, text: str) -> str | Json:
        """Write a fact with or without its source."""
        return text if self.chance(50) else {"text": text, "source": f"payment.log:{len(text)}"}

    def call(self) -> Json:
        """Plan a call and script what it finds."""
        if self.calls and self.chance(15):
            again: Json = json.loads(json.dumps(self.pick(*self.calls)))
            call = again
        else:
            call = {
                "tool": self.pick(*TOOLS[: self.pick(1, 2, 3)]),
                "scope": {"window": f"10:0{self.rng.randrange(9)}"} if self.chance(80) else {},
                "arguments": {"query": self.pick("pool", "p99")} if self.chance(30) else {},
            }
        texts = self.fact_texts()
        step: Json = {"facts": [self.fact(text) for text in texts]}
        if self.chance(10):
            step["raw"] = self.pick({"hits": [1, 2]}, [1, "two"], "plain", 7, None)
        elif self.chance(5):
            step["raw_size"] = self.pick(0, 10, 300)
        self.tools.setdefault(call["tool"], []).append(step)
        self.calls.append(call)
        self.found.append(texts)
        return call

    def right_progress(self) -> Json:
        """Say what the last batch brought, as far as the plan knows."""
        batch = self.batches[-1]
        before = {text for texts in self.found[: batch.start - 1] for text in texts}
        for number in batch:
            for k, text in enumerate(self.found[number - 1], 1):
                if text not in before and text.strip():
                    return {"state": "GAINED", "facts": [f"@{number}.{k}"]}
        return {"state": "NO_GAIN"}

    def batch(self) -> None:
        """Add a turn that asks for a batch and states the last one rightly."""
        turn: Json = {}
        if self.batches:
            turn["progress"] = self.right_progress()
        first = len(self.calls) + 1
        turn["calls"] = [self.call() for _ in range(self.weighted(((1, 60), (2, 28), (3, 12))))]
        self.batches.append(range(first, len(self.calls) + 1))
        self.agent.append(turn)

    def citation(self) -> Json:
        """Cite a planned fact rightly."""
        rows = [n for n, texts in enumerate(self.found, 1) if texts]
        if not rows:
            return {"invocation": "@1"}
        number = self.pick(*rows)
        fact = self.rng.randrange(len(self.found[number - 1])) + 1
        citation: Json = {"invocation": f"@{number}"}
        if self.chance(75):
            citation["fact"] = fact
        if self.chance(30):
            text = self.found[number - 1][fact - 1]
            citation["quote"] = text[: self.rng.randrange(4, 20)]
        return citation

    def draft(self) -> Json:
        """Draw a draft whose every statement is cited."""
        claims = [
            {"text": self.pick("Started after the deploy.", "Node 7 retried."), "citations": []}
            for _ in range(self.weighted(((0, 60), (1, 30), (2, 10))))
        ]
        for claim in claims:
            claim["citations"] = [self.citation()]
        return {
            "conclusion": self.pick(*CONCLUSIONS),
            "citations": [self.citation() for _ in range(self.pick(1, 1, 2))],
            "claims": claims,
            "recommendations": ["Raise the pool size."] if self.chance(25) else [],
            "missing_context": ["tenant"] if self.chance(10) else [],
        }

    def good(self) -> None:
        """Script a run in which nothing goes wrong."""
        scenario = self.scenario
        if self.chance(40):
            scenario["router"] = [{"intent": "DIAGNOSIS"}]
            if self.chance(25):
                scenario["router"][0]["missing_context"] = []
        if self.chance(25):
            scenario["request"] = {"question": "why slow?", "context": {"service": "payment"}}
            scenario["required_context"] = self.pick([], ["service"])
        if self.chance(20):
            scenario["progress"] = "INFERRED"
        if self.chance(15):
            scenario["responder"] = [{"reply": "Hello."}]
        if self.chance(30):
            scenario["distinguish_budget"] = self.chance(70)
        for _ in range(self.weighted(((0, 4), (1, 40), (2, 34), (3, 16), (4, 6)))):
            self.batch()
        self.agent.append({"draft": self.draft()})
        scenario["semantic_guard"] = [{"verdict": "SUPPORTED"}]
        if self.chance(35):
            scenario["repair"] = [{"draft": self.draft()}]
        if self.chance(15):
            self.tools.setdefault("deploys", [])
