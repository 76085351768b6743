"""The command line. `main` is what the `errands` program runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from cyclopts import CycloptsError

from errands_config.errors import ErrandsError
from errands_orchestrator.cli.complaint import complain, complaint_of
from errands_orchestrator.cli.root import root


def main() -> None:
    """Run the command that the program was called with, and exit with its code."""
    sys.exit(run_command(sys.argv[1:]))


def run_command(words: Sequence[str]) -> int:
    """Run one command; answers its exit code. Errors become one line on stderr, never a traceback."""
    try:
        code = root(list(words), exit_on_error=False, print_error=False, result_action="return_value")
    except (ErrandsError, CycloptsError, ExceptionGroup, KeyboardInterrupt, Exception) as error:
        return complain(complaint_of(error))
    return code if isinstance(code, int) else 0
