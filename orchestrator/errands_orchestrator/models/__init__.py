"""Language models: the protocol and its implementations."""

from errands_orchestrator.models.chat import ChatModel, chat_model
from errands_orchestrator.models.function import FunctionModel
from errands_orchestrator.models.model import Model, ModelCall, ModelRequest, Reply, Usage
from errands_orchestrator.models.responses import ResponsesModel, responses_model
from errands_orchestrator.models.scripted import ScriptedModel, scripted_model
from errands_orchestrator.models.seen import SeenMessage

__all__ = [
    "ChatModel",
    "FunctionModel",
    "Model",
    "ModelCall",
    "ModelRequest",
    "Reply",
    "ResponsesModel",
    "ScriptedModel",
    "SeenMessage",
    "Usage",
    "chat_model",
    "responses_model",
    "scripted_model",
]
