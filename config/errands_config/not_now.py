"""What a store says that cannot do a command just now and will be able to again: an error that is waited out.

redis-py has errors of its own for a replica (`ReadOnlyError`) and for memory that is full. Of a disk that is full, a
replica that is missing, or a reader that waited as its primary was demoted, it makes a refusal like any other.
"""

from __future__ import annotations

from redis.connection import DefaultParser
from redis.exceptions import ReadOnlyError


class NotNow(ReadOnlyError):
    """The store cannot do it just now."""

    def __init__(self, text: str, status_code: str) -> None:
        super().__init__(f"{status_code} {text}", status_code=status_code)


_CODES = ("MISCONF", "NOREPLICAS", "UNBLOCKED", "MASTERDOWN", "BUSY")


def tell_apart() -> None:
    """Have redis-py raise `NotNow` for these, in the whole process. It is a ResponseError still, with the same text."""
    DefaultParser.EXCEPTION_CLASSES.update(dict.fromkeys(_CODES, NotNow))  # one table, of all its parsers
