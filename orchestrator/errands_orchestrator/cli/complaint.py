"""What a person is told when a command cannot do what was asked: one line and an exit code."""

from __future__ import annotations

import sys
import traceback
from dataclasses import dataclass
from pathlib import Path

from cyclopts import CycloptsError

from errands_config.errors import ErrandsError
from errands_config.text import for_terminal
from errands_orchestrator.cli.exit_codes import Exit, exit_of


@dataclass(frozen=True, slots=True)
class Complaint:
    """What went wrong."""

    text: str
    code: Exit


def complaint_of(error: BaseException) -> Complaint:
    """The complaint that an error makes. What nobody raised on purpose is named with its place in the code."""
    match error:
        case ErrandsError():
            return Complaint(str(error), exit_of(error))
        case CycloptsError():
            return Complaint(f"{' '.join(str(error).split())} See `errands --help`.", Exit.USAGE)
        case BaseExceptionGroup():
            return complaint_of(_telling(error))
        case KeyboardInterrupt():
            return Complaint("interrupted", Exit.INTERRUPTED)
        case _:
            return Complaint(_internal(error), Exit.RUN_FAILED)


def complain(complaint: Complaint) -> int:
    """Print it on stderr; answers the exit code."""
    print(f"errands: {for_terminal(complaint.text)}", file=sys.stderr, flush=True)  # noqa: T201
    return int(complaint.code)


def _telling(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Of the errors of parallel parts the one that says most: one of ours before any other."""
    ours = group.subgroup(ErrandsError)
    return (ours or group).exceptions[0]


def _internal(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"internal error: {type(error).__name__}: {error}{place}; this is a fault of Errands, please report it"
