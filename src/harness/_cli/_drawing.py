"""The failure graph as a picture: Mermaid's flowchart, with a run's path marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from harness._graph import ANYWHERE, STEPS, WAYS, Step, Way, path_of
from harness._records import RunRecord
from harness._states import StopCause

__all__ = ["draw_graph"]

_OUTSIDE: Final = frozenset(
    {"request", "release", "save", *(step.id for step in STEPS if step.ending)}
)


def draw_graph(record: RunRecord | None = None) -> str:
    """
    Draw the failure graph as a Mermaid flowchart.

    Args:
        record: Marks the path of this run, with how often a step was taken.

    Returns:
        The flowchart's source, ending with a line feed. Nothing that stands in the record but its
        states goes into it.
    """
    path = () if record is None else path_of(record)
    taken = Counter(path)
    lines = ["flowchart TD"]
    lines += [f"    {_box(step, taken)}" for step in STEPS if step.id in _OUTSIDE]
    lines += ['    subgraph run["active check at every step"]']
    lines += [f"        {_box(step, taken)}" for step in STEPS if step.id not in _OUTSIDE]
    lines += ["    end"]
    lines += [f"    {way.source} {_arrow(way)} {way.target}" for way in WAYS]
    lines += [f'    run -. "{_stacked(ANYWHERE)}" .-> release']
    if record is not None:
        lines += _marks(record, path)
    return "\n".join(lines) + "\n"


def _box(step: Step, taken: Mapping[str, int]) -> str:
    count = taken.get(step.id, 0)
    label = f"{step.label} x{count}" if count > 1 else step.label
    return f'{step.id}(["{label}"])' if step.ending else f'{step.id}["{label}"]'


def _stacked(causes: tuple[StopCause, ...]) -> str:
    return "<br>".join(cause.name for cause in causes)


def _arrow(way: Way) -> str:
    label = _stacked(way.causes) or way.label
    return f'-- "{label}" -->' if label else "-->"


def _marks(record: RunRecord, path: tuple[str, ...]) -> list[str]:
    """
    Mark the boxes and arrows of a path.
    """
    places = {(way.source, way.target): place for place, way in enumerate(WAYS)}
    arrows: set[int] = set()
    for source, target in pairwise(path):
        if target == "release" and record.stop_cause in ANYWHERE:
            arrows.add(len(WAYS))
        elif (source, target) in places:
            arrows.add(places[source, target])
    lines = [f"    %% run state {record.run_state.name}"]
    if record.stop_cause is not None:
        lines.append(f"    %% stop cause {record.stop_cause.name}")
    lines.append("    classDef taken fill:#fde68a,stroke:#b45309,stroke-width:3px,color:#111827")
    lines.append(f"    class {','.join(dict.fromkeys(path))} taken")
    if arrows:
        marked = ",".join(map(str, sorted(arrows)))
        lines.append(f"    linkStyle {marked} stroke:#b45309,stroke-width:3px")
    return lines
