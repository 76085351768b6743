"""Which model an agent speaks to."""

from __future__ import annotations

from collections.abc import Callable

from errands_config.agent import Agent
from errands_config.errors import ConfigError
from errands_config.settings import Settings
from errands_orchestrator.models.chat import chat_model
from errands_orchestrator.models.model import Model
from errands_orchestrator.models.responses import responses_model
from errands_orchestrator.models.scripted import scripted_model

_MODELS = {"OpenAIv1": chat_model, "OpenAIResponses": responses_model}


def choosing(settings: Settings) -> Callable[[Agent, str], tuple[Model, str]]:
    """A function from an agent and the script stored with it to its model and that model's name."""

    def choose(agent: Agent, script: str) -> tuple[Model, str]:
        if agent.flavor == "Scripted":
            return scripted_model(script), "scripted"
        key = settings.api_keys.get(agent.api_key_id) if agent.api_key_id else None
        if agent.api_key_id and key is None:
            raise ConfigError(f"no key {agent.api_key_id!r} in ERRANDS_API_KEYS of this orchestrator", path="apiKeyId")
        name = agent.model_name or settings.model
        if not name:
            raise ConfigError("name a model here, or set ERRANDS_MODEL", path="modelName")
        url = agent.model_url or settings.model_url
        model = _MODELS[agent.flavor](
            url=url,
            key=key,
            timeout_seconds=settings.model_timeout_seconds,
            forbidden=settings.forbid_requests,
        )
        return model, name

    return choose
