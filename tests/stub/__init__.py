"""The strict endpoint of `errands_orchestrator.testing`, under the name that these tests have for it."""

from errands_orchestrator.testing.strict import HANG, Answer, Call, Drop, Hold, Raw, Received, Say, Status, Style
from errands_orchestrator.testing.strict import STRICT_KEY as STUB_KEY
from errands_orchestrator.testing.strict import StrictEndpoint as StubServer

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
