"""The error tree.

ErrandsError
├── ConfigError            an agent file, a setting or a tool folder is wrong (exit 3)
│   └── NotSupportedYet    a key that a later version brings
├── NotFound               no such session, call, agent or tool (exit 4)
├── Conflict               already ended, already owned, refused in this state (exit 5)
│   └── AnswerRefused      an answer from outside that a call does not take as it stands
├── StoreUnreachable       the store does not answer (exit 7)
├── TranscriptBroken       a request with a broken message list was about to be sent
├── ModelError             the model endpoint did not give a usable answer
└── ToolError              a tool failed; the text is for the model
    └── InvalidArguments   arguments that the tool's schema refuses
"""

from __future__ import annotations


class ErrandsError(Exception):
    """Anything Errands raises on purpose. The text says what was wrong, where, and what to do."""


class ConfigError(ErrandsError):
    """A configuration that cannot be used. `path` names the key, such as `toolCallPolicyConfig.rules[0].tool`."""

    def __init__(self, message: str, *, path: str = "") -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path = path


class NotSupportedYet(ConfigError):
    """A key of the contract that this version does not act on yet."""


class NotFound(ErrandsError):
    """Something named does not exist."""


class Conflict(ErrandsError):
    """Something cannot be done in the state that it found."""


class AnswerRefused(Conflict):
    """An answer from outside that a call does not take.

    `state` is the call's now, in the words of `errands_config.wire.CallState`: one that is not final may take it yet.
    """

    def __init__(self, message: str, *, state: str) -> None:
        super().__init__(message)
        self.state = state


class StoreUnreachable(ErrandsError):
    """The store does not answer."""


class TranscriptBroken(ErrandsError):
    """A message list that the model's API would refuse; it never leaves the process."""


class ModelError(ErrandsError):
    """The model endpoint gave no usable answer.

    `cause` is a word for status and logs; `retryable` says whether the same request may succeed later;
    `retry_after` is what the endpoint asked for, in seconds.
    """

    def __init__(self, message: str, *, cause: str, retryable: bool, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.cause = cause
        self.retryable = retryable
        self.retry_after = retry_after


class ToolError(ErrandsError):
    """A tool failed; the text is what the model reads."""


class InvalidArguments(ToolError):
    """Arguments that are not what the tool's schema wants."""
