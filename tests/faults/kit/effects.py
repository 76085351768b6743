"""What tools did, told by themselves: one line at the start and one at the end, appended to a file in one write."""

from __future__ import annotations

import json
import shlex
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.kit.agents import TOOLS, WRAPPED

EFFECTS_VARIABLE = "FAULTS_EFFECTS"
"""Where functions find the file; scripts have it in their text."""


_SCRIPT = """#!/bin/sh
[ "$1" = describe ] && echo '{description}' && exit
echo "start $ERRANDS_TOOL_CALL_ID $ERRANDS_ATTEMPT" >> '{file}'
sleep "$3"
{fault}
echo "end $ERRANDS_TOOL_CALL_ID $ERRANDS_ATTEMPT" >> '{file}'
echo "effect $2 of attempt $ERRANDS_ATTEMPT"
"""


_FIRST_TRY_FAILS = """[ "$(grep -c "^start $ERRANDS_TOOL_CALL_ID $ERRANDS_ATTEMPT$" '{file}')" -gt 1 ] || exit 1"""
_HOOKS = {
    "ask": {"action": "defer", "reason": "the hook wants the clerk's leave"},
    "pass": {"action": "continue"},
    "note": {"action": "annotate", "text": "the hook has seen it"},
}


@dataclass(slots=True)
class Effects:
    """What the file has said so far: for each call the attempts that began and those that came to their end."""

    file: Path
    starts: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    ends: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    _read: int = 0

    def look(self) -> None:
        """Read on. A line that is still being written is left for the next look."""
        if not self.file.exists():
            return
        with self.file.open("rb") as lines:
            lines.seek(self._read)
            new = lines.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.decode().splitlines():
            word, call, attempt = line.split()
            (self.starts if word == "start" else self.ends)[call].append(int(attempt))


def write_scripts(folder: Path, effects: Path) -> Path:
    """Make the folder of scripts that append to this file; answers the folder."""
    folder.mkdir()
    for name in (*TOOLS, *WRAPPED):
        kind, _, slug = name.partition("_")
        if kind == "bash":
            fault = _FIRST_TRY_FAILS.format(file=effects) if "flaky" in slug else ""
            described = json.dumps(_description(slug))
            _write(folder / slug, _SCRIPT.format(description=described, file=effects, fault=fault))
    return folder


def write_hooks(folder: Path) -> Path:
    """Make the folder of hooks; answers the folder."""
    folder.mkdir()
    for name, answer in _HOOKS.items():
        _write(folder / name, f"#!/bin/sh\ncat > /dev/null\necho {shlex.quote(json.dumps(answer))}\n")
    return folder


def _write(script: Path, text: str) -> None:
    script.write_text(text)
    script.chmod(0o755)


def _description(slug: str) -> dict[str, object]:
    arguments = [{"name": "key", "mode": "positional"}]
    arguments += [{"name": "seconds", "mode": "positional", "backing_type": "number"}]
    return {"slug": slug, "description": "Leaves a mark.", "args": arguments}
