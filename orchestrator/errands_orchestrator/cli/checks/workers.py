"""The workers, what they offer, and the queues that they serve. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from errands_orchestrator.catalogue import LiveOffer
from errands_orchestrator.cli.checks.finding import Finding, span

LONG_WAIT_MS = 60_000
"""A call that waits longer for a worker is worth saying."""
UNPUBLISHED_MS = 10_000
"""An orchestrator publishes what is to be published within a second."""


@dataclass(frozen=True, slots=True)
class LiveWorker:
    """A worker incarnation that is not given up."""

    id: str
    host: str
    queues: tuple[str, ...]
    slots: str
    silent_ms: int
    """Store time since its last beat."""
    tools: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """As it is called here."""
        return f"{self.id} on {self.host}"


@dataclass(frozen=True, slots=True)
class QueueFacts:
    """Calls that nobody has claimed. Ages are store time in ms."""

    name: str
    waiting: int
    oldest_ms: int = 0
    """How long the one that was queued first has waited, of those that were looked at."""
    unpublished_ms: int | None = None
    """How long one has waited whose message was never sent; None: there is none."""
    tools: Mapping[str, int] = field(default_factory=dict[str, int])
    """The tools that are waited for, and how many calls of each were looked at."""


def worker_findings(workers: Sequence[LiveWorker], lost_after_ms: int) -> Iterator[Finding]:
    """The workers that beat, and those that stopped to."""
    if not workers:
        advice = "`errands worker FILE` starts one, `errands run` its own"
        yield Finding("workers", "note", "no worker is running", advice)
    for worker in workers:
        text = f"{worker.name}: {worker.slots} slots on {', '.join(worker.queues)}"
        if worker.silent_ms > lost_after_ms:
            silence = f"{text}; silent for {span(worker.silent_ms)}"
            yield Finding("workers", "wrong", silence, "an orchestrator would settle it: `errands orchestrator`")
        else:
            yield Finding("workers", "ok", text)


def queue_findings(queues: Sequence[QueueFacts], workers: Sequence[LiveWorker]) -> Iterator[Finding]:
    """Queues with calls that no live worker takes, that wait long, or that may meet a worker without their tool."""
    for queue in sorted(queues, key=lambda one: one.name):
        serving = [worker for worker in workers if queue.name in worker.queues]
        if queue.waiting:
            yield from _waiting(queue, serving)
        yield from _differing(queue.name, serving)


def _waiting(queue: QueueFacts, serving: Sequence[LiveWorker]) -> Iterator[Finding]:
    count = f"calls waiting on queue {queue.name}: {queue.waiting}"
    if queue.unpublished_ms is not None and queue.unpublished_ms > UNPUBLISHED_MS:
        text = f"{count}, one of them for {span(queue.unpublished_ms)} without having been sent to the broker"
        yield Finding("queues", "wrong", text, "start an orchestrator, which sends it: `errands orchestrator`")
    if not serving:
        text = f"{count}, and no worker serves it"
        yield Finding("queues", "wrong", text, f"`errands worker … --queues {queue.name}`")
        return
    offered = frozenset[str]().union(*(worker.tools for worker in serving))
    for tool in sorted(queue.tools.keys() - offered):
        text = f"calls of {tool} waiting on queue {queue.name}: {queue.tools[tool]}, and its workers do not offer it"
        yield Finding("queues", "wrong", text, f"start a worker that has it: `errands worker … --queues {queue.name}`")
    if queue.oldest_ms > LONG_WAIT_MS:
        text = f"{count}, the first of them for {span(queue.oldest_ms)}"
        yield Finding("queues", "note", text, "add workers or slots for this queue, if that is too long")


def _differing(queue: str, serving: Sequence[LiveWorker]) -> Iterator[Finding]:
    """A worker throws away the message of a tool that it does not have; it is sent again some seconds later."""
    offered = frozenset[str]().union(*(worker.tools for worker in serving))
    for worker in serving:
        if worker.tools and (missing := sorted(offered - worker.tools)):
            text = f"{worker.name} serves queue {queue} without {_some(missing)}, which others on it offer"
            yield Finding(
                "queues",
                "note",
                text,
                "give it the same tools, or its tools a queue of their own: calls that "
                "it gets by mistake are late by some seconds",
            )


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def catalogue_findings(offers: Sequence[LiveOffer], hosts: Mapping[str, str]) -> Iterator[Finding]:
    """Names under which workers offer different tools. `hosts`: of workers, by their ids."""
    digests: dict[str, dict[str, list[str]]] = {}
    for live in offers:
        digests.setdefault(live.offer.name, {}).setdefault(live.offer.digest, []).append(live.worker)
    for name in conflicts(digests):
        versions = (
            f"{digest[:8]} by {', '.join(f'{worker} on {hosts.get(worker)}' for worker in sorted(workers))}"
            for digest, workers in sorted(digests[name].items())
        )
        text = f"{name} is offered in {len(digests[name])} versions: {'; '.join(versions)}"
        advice = "restart the workers that have the older code; sessions keep the version that they began with"
        yield Finding("catalogue", "wrong", text, advice)


def conflicts(digests: Mapping[str, Collection[str]]) -> list[str]:
    """The names with more than one digest."""
    return sorted(name for name, found in digests.items() if len(found) > 1)
