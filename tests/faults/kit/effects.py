"""What tools did, told by themselves: one line at the start and one at the end, appended to a file in one write."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

EFFECTS_VARIABLE = "FAULTS_EFFECTS"
"""Where functions find the file; scripts have it in their text."""

SCRIPTS = ("once", "again", "step_once", "step_again")
"""Slugs of the scripts: `again` may be started again, `step` is waited for by its session's step."""

_SCRIPT = """#!/bin/sh
[ "$1" = describe ] && echo '{description}' && exit
echo "start $ERRANDS_TOOL_CALL_ID $ERRANDS_ATTEMPT" >> '{file}'
sleep "$3"
echo "end $ERRANDS_TOOL_CALL_ID $ERRANDS_ATTEMPT" >> '{file}'
echo "effect $2 of attempt $ERRANDS_ATTEMPT"
"""


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
    for slug in SCRIPTS:
        script = folder / slug
        script.write_text(_SCRIPT.format(description=json.dumps(_description(slug)), file=effects))
        script.chmod(0o755)
    return folder


def _description(slug: str) -> dict[str, object]:
    arguments = [{"name": "key", "mode": "positional"}]
    arguments += [{"name": "seconds", "mode": "positional", "backing_type": "number"}]
    return {"slug": slug, "description": "Leaves a mark.", "args": arguments}
