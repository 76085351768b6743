"""`errands completion`: the script with which a shell completes our commands, options and files."""

from __future__ import annotations

import sys
from typing import Literal


def completion(shell: Literal["bash", "zsh", "fish"], /) -> None:
    """Print the completion script of a shell. Its help page stands in `root.py`."""
    from errands_orchestrator.cli.root import root  # imported here: it imports us

    sys.stdout.write(root.generate_completion(shell=shell))
