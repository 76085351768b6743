"""The agent file: how it is read, checked and kept.

A mistake is a ConfigError that names the path to the key, every mistake of a file in one error, a line each. What a
later version brings is NotSupportedYet; a mistake inside such a part is named first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Annotated, Literal, Self, TypeAlias, cast

from pydantic import Field, JsonValue, ModelWrapValidatorHandler, PrivateAttr, ValidationError, model_validator

from errands_config.agent_file.binding_mistakes import binding_mistakes
from errands_config.agent_file.bindings import Binding, Parameter
from errands_config.agent_file.decorators import Limit
from errands_config.agent_file.delivery_config import Delivery
from errands_config.agent_file.file_model import (
    LONGEST_SECONDS,
    ByTag,
    FileModel,
    Many,
    NonEmpty,
    ReadAs,
    Seconds,
    Text,
)
from errands_config.agent_file.finding import Finding, as_error, guess, key_path, shown
from errands_config.agent_file.json_text import canonical_json, read_json
from errands_config.agent_file.names import CAPABILITIES, Capability, Slug, ToolGlob
from errands_config.agent_file.not_yet import refusals
from errands_config.agent_file.policy_config import Keys, ToolCallPolicyConfig
from errands_config.agent_file.toolbox_config import (
    BashToolbox,
    McpSimpleBinary,
    Module,
    OpenApiServer,
    SystemToolbox,
)
from errands_config.agent_file.wording import findings_of
from errands_config.errors import ConfigError, NotSupportedYet

_USUAL: tuple[Capability, ...] = ("get-tool-call-status", "list-running-tool-calls", "cancel-tool-call")


class YieldOnTimeout(FileModel):
    """Hand back to the model when a call is final, or after so long."""

    tag: Literal["yieldOnTimeout"]
    milliseconds: int = Field(ge=0, le=round(LONGEST_SECONDS * 1000))
    """How long, from the moment the wait began."""


Flavor: TypeAlias = Annotated[
    Literal["OpenAIv1", "OpenAIResponses", "Scripted"], ReadAs(KimiV1="OpenAIv1", MistralV1="OpenAIv1")
]
ExecutionMode: TypeAlias = Annotated[
    Literal["synchronous", "asynchronous"], ReadAs(Synchronous="synchronous", Asynchronous="asynchronous")
]
YieldStrategy: TypeAlias = Annotated[Literal["yieldWhenAllDone", "yieldOnAnyProgress"] | YieldOnTimeout, ByTag()]
Scope: TypeAlias = Literal["own", "children", "subtree", "all"]


class ExtraAgent(FileModel):
    """A helper, called as the tool `prompt_agent_<slug>`."""

    slug: Slug
    path: NonEmpty
    given: dict[str, JsonValue] = Field(default={}, alias="with")
    narrowable: bool = True


class Registry(FileModel):
    """How the model names its calls and what happens to equal ones. Where it stands in the file, be it empty, calls in
    the background take `idempotency_key` and `depends_on` beside their own arguments."""

    handles: bool = False
    """Whether each call in the background must have a `task_handle`, a name that the model gives it, unique over the
    conversation."""
    references: bool = False
    """Whether `{"$result": NAME, "path": "…"}` in arguments stands for the result of an earlier call."""
    on_duplicate: Literal["allow", "reject", "replace", "confirm", "attach"] = "allow"
    """What becomes of a call that equals one in flight: it runs, is refused, takes the other's place, runs only with
    `confirm_duplicate`, or ends with the other and does not run itself."""
    duplicate_scope: Literal["name_and_args", "name"] = "name_and_args"
    """What makes two calls equal."""
    digest: bool = False
    """Whether messages that are sent anyway end with a short list of the calls that still run: state, start, newest
    progress, open questions. It is sent when it has changed, or after ten turns."""


class Agent(FileModel):
    """One agent as its file describes it. Made by `load_agent` and `parse_agent` only."""

    slug: Slug
    """Names the agent; unique where it runs."""
    system_prompt: Text = ""
    """The first message of every conversation. A list is its lines."""
    announce: Text = ""
    """What callers of the agent are told about it."""
    flavor: Flavor = "OpenAIv1"
    """How the model is spoken to: over the OpenAI chat API, over the Responses API, or not at all, because a script
    answers."""
    async_tools: bool | None = None
    """With `OpenAIResponses`: whether the model itself knows calls whose results come later, and so gets each on the
    call itself and no placeholder before. Left out: by the model's name."""
    model_url: NonEmpty | None = None
    """Endpoint of the model; of a `Scripted` one its script file, beside the agent file. Left out: the settings', then
    the environment of the `openai` package."""
    model_name: NonEmpty | None = None
    """The model's name at its endpoint; left out: as for `modelUrl`."""
    api_key_id: NonEmpty | None = None
    """Names one of the keys in the setting `ERRANDS_API_KEYS`; left out: the environment of the `openai` package."""
    execution_mode: ExecutionMode = "synchronous"
    """Whether calls may run in the background; the policy says which do."""
    async_yield_strategy: YieldStrategy = "yieldWhenAllDone"
    """When a step that waits for runAsync calls hands back to the model: when all are final, when one is, or when one
    is or some time has passed. Calls that are not final then get a placeholder."""
    max_concurrency: int = Field(default=4, ge=1, le=10_000)
    """runAsync calls of one session at a time; further ones wait, in order."""
    shared_limits: Many[NonEmpty] = ()
    """Names of limits in the settings that hold over all sessions and hosts."""
    async_call_timeout_seconds: Seconds | None = None
    """Longest run of one attempt in asynchronous mode, from the moment a worker took it; left out: one day."""
    queue_timeout_seconds: Seconds = 3600
    """Longest wait for a worker that takes the call."""
    tool_call_policy_config: ToolCallPolicyConfig = ToolCallPolicyConfig()
    """How each call runs."""
    builtin_toolboxes: Many[SystemToolbox] | None = None
    """What the model may ask about its own calls; left out: an asynchronous agent gets status, list and cancel."""
    bash_toolboxes: Many[BashToolbox] = ()
    """Executables that are tools."""
    tool_directory: NonEmpty | None = None
    """A folder of executables: the short form of a `FileSystemDirectory`."""
    function_toolboxes: Many[Module] = ()
    """Python modules whose `@tool` functions are tools."""
    mcp_servers: Many[McpSimpleBinary] = ()
    """Servers whose tools are reached over MCP."""
    open_api_toolboxes: Many[OpenApiServer] = ()
    """HTTP APIs whose operations are tools."""
    tools: Many[ToolGlob] = ()
    """Which of the tools that live workers offer the agent gets, beside those of its toolboxes."""
    parameters: Many[Parameter] = ()
    """Values that whoever starts the agent may set."""
    bindings: Many[Binding] = ()
    """Arguments of tools that are not the model's to choose."""
    extra_agents: Many[ExtraAgent] = ()
    """Helpers, called as tools."""
    mail_scope: Scope = "subtree"
    """Whose sessions this agent may write to."""
    interrupt_scope: Scope = "children"
    """Whose sessions this agent may interrupt."""
    interrupt_completions: bool = False
    """Whether interrupt mail stops the model while it answers: the request is sent again with the mail in it."""
    mail_in_tool_result: bool = False
    """Whether mail of calls and sessions joins the last tool result of the turn instead of a user message. A person's
    words stay a user message, because text in tool results is data."""
    pause_cancels_calls: bool = False
    """Whether a pause cancels the calls that the step waits for. Otherwise, and in the background, they go on."""
    resume_on_any_mail: bool = False
    """Whether a message, a notify or the end of a call resumes a paused session, and not only `resume`."""
    registry: Registry = Registry()
    """How calls are named and compared."""
    delivery: Delivery = Delivery()
    """How late results reach the model."""
    on_run_end: Literal["wait", "cancel", "detach"] = "wait"
    """What becomes of background calls when the model has ended its turn: the run waits for them and goes on with their
    results, cancels them, or ends and lets them run; what comes of those is told when the session is continued."""
    on_run_failure: Literal["cancel", "keep"] = "cancel"
    """What becomes of background calls when a person cancels the run or the session itself fails. An endpoint that
    fails pauses the run, and its calls go on."""

    _canonical: str = PrivateAttr(default="")

    @model_validator(mode="wrap")
    @classmethod
    def _keep_what_was_written(cls, data: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        agent = handler(data)
        if not agent._canonical:
            agent._canonical = canonical_json(cast("JsonValue", data))
        return agent

    @property
    def canonical(self) -> str:
        """What was written, as canonical JSON without envelope; `parse_agent` reads it again."""
        return self._canonical

    @property
    def has_registry(self) -> bool:
        """Whether `registry` stands in the file."""
        return "registry" in self.model_fields_set

    @property
    def digest(self) -> str:
        """SHA-256 of `canonical`, hexadecimal: equal for equal files, whatever their blanks and order of keys."""
        return hashlib.sha256(self._canonical.encode()).hexdigest()

    @property
    def capabilities(self) -> tuple[Capability, ...]:
        """The capabilities that the model is offered.

        Without `builtinToolboxes` an asynchronous agent gets status, list and cancel. `send-to-tool-call` may be
        listed but is offered only to an agent with helpers, because there is nobody else to write to.
        """
        if self.builtin_toolboxes is None:
            return _USUAL if self.execution_mode == "asynchronous" else ()
        named = [name for box in self.builtin_toolboxes for name in box.contents.capabilities]
        return tuple(
            name for name in CAPABILITIES if name in named and (name != "send-to-tool-call" or self.extra_agents)
        )


class Envelope(FileModel):
    """What may stand around an agent in its file."""

    tag: Literal["OpenAIAgentDescription"]
    contents: dict[str, JsonValue]


def load_agent(
    path: Path, *, api_key_ids: Collection[str] | None = (), limit_names: Collection[str] | None = None
) -> Agent:
    """Read and check an agent file; see `parse_agent`. A file that cannot be read is a ConfigError too."""
    try:
        text = path.read_bytes()
    except OSError as unreadable:
        reason = "no such agent file" if isinstance(unreadable, FileNotFoundError) else unreadable.strerror
        raise ConfigError(f"{path}: {reason}") from None
    return parse_agent(text, origin=str(path), api_key_ids=api_key_ids, limit_names=limit_names)


def parse_agent(
    text: str | bytes,
    *,
    origin: str,
    api_key_ids: Collection[str] | None = (),
    limit_names: Collection[str] | None = None,
) -> Agent:
    """The agent that a text describes, bare or in its envelope. `origin` names the text in errors.

    `api_key_ids` are the keys that the settings list; None is for a process that holds no keys and leaves `apiKeyId`
    unchecked. `limit_names` are the shared limits that they define; None leaves the names of limits unchecked.
    Raises ConfigError for mistakes, NotSupportedYet for what a later version brings.
    """
    document = read_json(text, origin)
    try:
        agent = Agent.model_validate(_bare(document))
    except ValidationError as invalid:
        raise as_error(findings_of(invalid), origin) from None
    if mistakes := [*_mistakes(agent, api_key_ids), *_limits(agent, limit_names), *_questions(agent)]:
        raise as_error(mistakes, origin)
    if later := list(refusals(agent.model_dump(mode="json", by_alias=True))):
        raise as_error(later, origin, NotSupportedYet)
    return agent


def _bare(document: JsonValue) -> JsonValue:
    """The description without its envelope, and without the `$schema` that editors read."""
    if not isinstance(document, dict):
        return document
    bare = _without_hint(document)
    return _without_hint(Envelope.model_validate(bare).contents) if "tag" in bare else bare


def _without_hint(written: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return {key: value for key, value in written.items() if key != "$schema"}


def _mistakes(agent: Agent, api_key_ids: Collection[str] | None) -> Iterator[Finding]:
    """What no single part can see."""
    key_id = agent.api_key_id
    if key_id is not None and api_key_ids is not None and key_id not in api_key_ids:
        known = f"known: {', '.join(sorted(api_key_ids))}" if api_key_ids else "the settings list no keys"
        yield Finding("apiKeyId", f'no key "{key_id}" in the settings{guess(key_id, api_key_ids)}; {known}')
    url = agent.model_url
    if url is not None and agent.flavor != "Scripted" and not url.startswith(("http://", "https://")):
        yield Finding("modelUrl", f"a URL with http:// or https:// is expected, got {shown(url)}")
    if agent.async_tools is not None and agent.flavor != "OpenAIResponses":
        yield Finding("asyncTools", 'only "flavor": "OpenAIResponses" has such tools; leave it out')
    yield from binding_mistakes(agent.parameters, agent.bindings)


def _limits(agent: Agent, known: Collection[str] | None) -> Iterator[Finding]:
    """Limits that the file names and the settings do not define."""
    if known is None:
        return
    for keys, name in _named_limits(agent):
        if name not in known:
            there = f"known: {', '.join(sorted(known))}" if known else "the settings define none (ERRANDS_LIMITS)"
            yield Finding(key_path(keys), f'no limit "{name}" in the settings{guess(name, known)}; {there}')


def _named_limits(agent: Agent) -> Iterator[tuple[Keys, str]]:
    for place, name in enumerate(agent.shared_limits):
        yield ("sharedLimits", place), name
    for keys, decorator in agent.tool_call_policy_config.decorators():
        if isinstance(decorator, Limit):
            yield ("toolCallPolicyConfig", *keys, "name"), decorator.name


def _questions(agent: Agent) -> Iterator[Finding]:
    """Where a model could ask its user and would never be told the answer."""
    if agent.execution_mode == "asynchronous":
        return
    for place, box in enumerate(agent.builtin_toolboxes or ()):
        for position, name in enumerate(box.contents.capabilities):
            if name == "ask-user":
                path = f"builtinToolboxes[{place}].contents.Capabilities[{position}]"
                yield Finding(path, '"ask-user" needs "executionMode": "asynchronous": its answer comes later')
