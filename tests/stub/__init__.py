"""A local OpenAI-compatible chat endpoint for tests, as strict as the real one and as faulty as one likes."""

from tests.stub.answers import HANG, Answer, Call, Drop, Hold, Raw, Say, Status, Style
from tests.stub.journal import Received
from tests.stub.server import STUB_KEY, StubServer

__all__ = [
    "HANG",
    "STUB_KEY",
    "Answer",
    "Call",
    "Drop",
    "Hold",
    "Raw",
    "Received",
    "Say",
    "Status",
    "StubServer",
    "Style",
]
