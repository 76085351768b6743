"""A local OpenAI-compatible endpoint for tests, as strict as the real one and as faulty as one likes.

It speaks the chat API and the Responses API.
"""

from errands_orchestrator.testing.strict.answers import HANG, Answer, Call, Drop, Hold, Raw, Say, Status, Style
from errands_orchestrator.testing.strict.journal import Received
from errands_orchestrator.testing.strict.server import STRICT_KEY, StrictEndpoint

__all__ = [
    "HANG",
    "STRICT_KEY",
    "Answer",
    "Call",
    "Drop",
    "Hold",
    "Raw",
    "Received",
    "Say",
    "Status",
    "StrictEndpoint",
    "Style",
]
