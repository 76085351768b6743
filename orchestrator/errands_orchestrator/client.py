"""The Python API: what the command line does, for an application. Asynchronous and typed.

async with Client() as client:
    print(await client.run("agent.json", "Are the tests green?"))
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import AsyncExitStack, aclosing, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TypeAlias

from pydantic import JsonValue

from errands_config.errors import Conflict
from errands_config.settings import Settings, load_settings
from errands_config.store import translated
from errands_orchestrator import client_calls, sessions
from errands_orchestrator.calls import CallRow, call_rows
from errands_orchestrator.client_agents import AgentLike, Given, given
from errands_orchestrator.client_calls import Cancellation
from errands_orchestrator.client_events import BEGINNING, Event, events_of, position_of
from errands_orchestrator.client_place import Place, place
from errands_orchestrator.client_runs import Run, Runs
from errands_orchestrator.client_tools import Workers
from errands_orchestrator.deferred import Deferrals, Resolution
from errands_orchestrator.definitions import MakeModel, definitions
from errands_orchestrator.models.choosing import choosing
from errands_orchestrator.outside_result import result_of
from errands_orchestrator.parameters import changed_parameters
from errands_orchestrator.pending import PendingCall, pending

Parameters: TypeAlias = Mapping[str, JsonValue]
"""Values of an agent's parameters, by their names."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A message that a session will take in."""

    session: str
    id: str
    """The same id again within 24 h changes nothing."""
    duplicate: bool
    """Whether it had been sent before."""


@dataclass(frozen=True, slots=True)
class _Open:
    place: Place
    runs: Runs
    workers: Workers


class Client:
    """Talks to one deployment, inside `async with`, in one event loop.

    `start`, `send`, `events`, `calls`, `cancel` and `pause` only write and read records: somebody else steps the
    session, such as `errands orchestrator`. `run`, `resume` and `call_tool` step theirs in this process, beside any
    orchestrators. Every method may raise StoreUnreachable; what else is raised stands with each. Cancelling a task that
    waits for a run leaves the session as it is.
    """

    def __init__(self, settings: Settings | None = None, *, make_model: MakeModel | None = None) -> None:
        """Reach nothing yet. `settings`: None reads ERRANDS_* once, now; ConfigError if they are wrong.

        Without a store in them the embedded one of ERRANDS_HOME is used. `make_model` stands in for the models that
        agents name; a run closes the model that it made.
        """
        self._settings = settings or load_settings()
        self._make_model = make_model or choosing(self._settings)
        self._ending = AsyncExitStack()
        self._is_open: _Open | None = None

    async def __aenter__(self) -> Self:
        """Reach the store. Raises StoreUnreachable."""
        here = await self._ending.enter_async_context(place(self._settings))
        self._is_open = _Open(here, Runs(here, self._make_model), Workers(here, self._ending))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the store, and end the workers that this client started, whether or not the block failed."""
        self._is_open = None
        await self._ending.aclose()

    # ---- runs

    async def start(self, agent: AgentLike, text: str = "", *, parameters: Parameters | None = None) -> str:
        """Begin a session, with a first message unless `text` is empty; answers its id. Does not step it.

        `parameters`: values of the agent's parameters, by their names. Raises ConfigError for an agent or a value that
        cannot be used, NotFound for an unknown agent or for tools nobody offers.
        """
        with self._opened() as at:
            made = await given(at.place.store, agent, at.place.settings)
            return await self._start(at, made, text, parameters, may_start=False)

    async def run(self, agent: AgentLike, text: str, *, parameters: Parameters | None = None) -> str:
        """Begin a session, step it to the end of its run, and answer what the model said last.

        A worker is started if the agent came as a file and nobody offers its tools; it stays until the client is
        closed. Raises what `start` does; RunPaused, RunCancelled and BlockedOnDeferredCalls where there is no answer.
        """
        return (await self.run_until_blocked(agent, text, parameters=parameters)).expect_answer()

    async def run_until_blocked(self, agent: AgentLike, text: str, *, parameters: Parameters | None = None) -> Run:
        """`run`, but how the run stands is answered, also where it is paused, blocked or was cancelled."""
        with self._opened() as at:
            made = await given(at.place.store, agent, at.place.settings)
            await at.runs.check_model(made)
            sid = await self._start(at, made, text, parameters, may_start=True)
            return await at.runs.to_the_end(sid, BEGINNING)

    async def resume(self, session: str, agent: AgentLike | None = None) -> str:
        """Go on with a session that was left, paused or spoken to; answers what the model said last in its run.

        `agent`: its file, from which a worker is started if nobody offers its tools. Raises NotFound, Conflict where
        there is nothing to go on with, and what `run` raises where there is no answer.
        """
        with self._opened() as at:
            tools = await at.runs.tools_of(session)
            made = await given(at.place.store, agent, at.place.settings) if agent is not None else None
            await at.workers.have(tools, made)
            return (await at.runs.resumed(session)).expect_answer()

    async def send(
        self,
        session: str,
        text: str,
        *,
        interrupt: bool = False,
        id: str | None = None,  # noqa: A002
        parameters: Parameters | None = None,
    ) -> Sent:
        """Say something to a session. `interrupt`: it lets go at once of all that it waits for.

        `id` makes a repeat harmless. `parameters`: new values of those whose scope is `message`. Raises NotFound,
        Conflict when 256 messages wait already, and ConfigError for a parameter that cannot be set.
        """
        mail_id = id or sessions.new_id()
        with self._opened() as at:
            if parameters:
                await changed_parameters(at.place.store, session, parameters)
            receipt = await sessions.send(at.place.store, session, text, mail_id=mail_id, interrupt=interrupt)
            return Sent(session, mail_id, receipt.outcome == "duplicate")

    async def pause(self, session: str) -> None:
        """Have a session stand still until it is resumed; its calls go on. Raises NotFound."""
        with self._opened() as at:
            await sessions.control(at.place.store, session, "pause")

    async def cancel_run(self, session: str) -> None:
        """Have the run that goes on in a session end, and keep the session. Raises NotFound.

        The event `run.ended` tells when it has. Where no run goes on nothing happens.
        """
        with self._opened() as at:
            await sessions.control(at.place.store, session, "stopRun")

    # ---- watching

    async def position(self, session: str) -> str:
        """The position of a session's newest event, to watch from now on. Raises NotFound."""
        with self._opened() as at:
            await sessions.status_of(at.place.store, session)
            return await position_of(at.place.store, session)

    async def events(self, session: str, *, since: str = BEGINNING, follow: bool = True) -> AsyncGenerator[Event]:
        """The events of a session later than a position (an event's `id`), then those to come.

        It goes on until it is closed (`contextlib.aclosing`) or left; without `follow` it ends with the newest event.
        The newest 1,000 or so are kept: where some behind the position are gone, an event `reset` comes first.
        Raises NotFound, and ConfigError for what is no position.
        """
        with self._opened() as at:
            async with aclosing(events_of(at.place, session, since, follow=follow)) as events:
                async for event in events:
                    yield event

    # ---- calls

    async def calls(self, session: str, *, limit: int = 50) -> tuple[CallRow, ...]:
        """A session's calls, the newest first, with how they ended. Raises NotFound."""
        with self._opened() as at:
            await sessions.status_of(at.place.store, session)
            newest = (await sessions.call_ids(at.place.store, session))[::-1][:limit]
            return await call_rows(at.place.store, newest)

    async def cancel(self, call: str, *, reason: str = "cancelled by the application") -> Cancellation:
        """Ask for the end of a call and wait up to 10 s for it. Raises NotFound, and Conflict if it had ended."""
        with self._opened() as at:
            return await client_calls.cancel(at.place, call, reason)

    async def call_tool(self, name: str, arguments: Mapping[str, JsonValue] | None = None) -> JsonValue:
        """Call one tool through its queue, without a model; answers its text, or the value of its JSON result.

        A wait that is cancelled cancels the call. Raises NotFound for what no live worker offers, and ToolError for
        every other end than `completed`.
        """
        with self._opened() as at:
            return await client_calls.call_tool(at.place, at.runs, name, arguments or {})

    # ---- calls that wait for somebody outside: `target` is the token of one, or its id

    async def pending(self, session: str | None = None, *, limit: int | None = None) -> tuple[PendingCall, ...]:
        """The newest calls of a session, or of all, that wait for somebody outside, oldest first. Raises NotFound."""
        with self._opened() as at:
            return await pending(at.place.store, at.place.settings, session, limit)

    async def complete(self, target: str, result: JsonValue) -> Resolution:
        """End a deferred call with its result: text, or any other value as JSON.

        This and the other answers are confirmed again when they are given again; a call that had another one, was
        cancelled or has expired is a Conflict. NotFound for a target that is none.
        """
        with self._outside() as deferrals:
            return await deferrals.complete(target, result_of(result))

    async def fail(self, target: str, reason: str) -> Resolution:
        """End a deferred call as failed. Raises what `complete` does."""
        with self._outside() as deferrals:
            return await deferrals.fail(target, reason)

    async def deny(self, target: str, reason: str = "") -> Resolution:
        """Refuse a deferred call; its model reads the reason. Raises what `complete` does."""
        with self._outside() as deferrals:
            return await deferrals.deny(target, reason)

    async def approve(self, token: str, arguments: Mapping[str, JsonValue] | None = None) -> Resolution:
        """Have a deferred call run with exactly the arguments that were shown, or with others. It wants the token.

        Raises what `complete` does, and InvalidArguments for what the tool's schema refuses.
        """
        with self._outside() as deferrals:
            new = None if arguments is None else json.dumps(dict(arguments), ensure_ascii=False)
            return await deferrals.approve(token, new)

    async def answer(self, target: str, text: str) -> Resolution:
        """Answer a question of the model; with choices by one of them, or by its number from 1.

        After the question has ended the model gets the answer as mail. Raises what `complete` does, and
        InvalidArguments for what is no answer.
        """
        with self._outside() as deferrals:
            return await deferrals.answer(target, text)

    async def dismiss(self, target: str, reason: str = "") -> Resolution:
        """Put a question of the model aside. Raises what `complete` does."""
        with self._outside() as deferrals:
            return await deferrals.dismiss(target, reason)

    async def progress(self, target: str, payload: JsonValue) -> None:
        """Report how far a deferred call is. Raises NotFound, and Conflict where it does not wait any more."""
        with self._outside() as deferrals:
            await deferrals.progress(target, payload)

    async def notify(self, target: str, text: str) -> None:
        """Tell the model something while a call is deferred, at most 16 times a call. Raises what `progress` does."""
        with self._outside() as deferrals:
            await deferrals.notify(target, text)

    # ---- within

    @contextmanager
    def _outside(self) -> Generator[Deferrals]:
        with self._opened() as at:
            yield Deferrals(at.place.store, at.place.settings)

    async def _start(self, at: _Open, made: Given, text: str, parameters: Parameters | None, *, may_start: bool) -> str:
        values = await made.parameters(parameters)
        tools = await at.workers.tools_for(made, may_start=may_start)
        return await sessions.start(at.place.store, made.agent.slug, definitions(made.made, tools, values), text)

    @contextmanager
    def _opened(self) -> Generator[_Open]:
        """The parts, while the client is open; an error of the store's client becomes one of ours."""
        if self._is_open is None:
            raise Conflict("this client is not open: use it inside `async with Client() as client:`")
        with translated(self._settings):
            yield self._is_open
