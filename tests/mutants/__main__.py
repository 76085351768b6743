"""Break a copy of the code, one breakage after the other, and see that the named test fails on it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.mutants.breakage import Breakage
from tests.mutants.breakages import BREAKAGES

ROOT = Path(__file__).parents[2]
COPIED = ("config", "workers", "orchestrator", "tests", "examples", "pyproject.toml", "requirements.lock", "README.md")
SECONDS = 180


def copied(folder: Path) -> Path:
    """A copy of what the tests need, which the imports of its tests find before the installed one."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", ".errands"))
        else:
            shutil.copy(source, folder / name)
    return folder


def red(folder: Path, tests: tuple[str, ...]) -> bool:
    """Whether one of these tests fails in that copy. Anything but a pass or a failure is an error of the mutant."""
    roots = os.pathsep.join(str(folder / root) for root in ("config", "workers", "orchestrator", "."))
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:randomly", *tests]
    done = subprocess.run(
        command, cwd=folder, env=os.environ | {"PYTHONPATH": roots}, capture_output=True, text=True, timeout=SECONDS
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"{tests} could not be run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.returncode == 1


def broken(folder: Path, breakage: Breakage) -> None:
    """Change the one place. A text that stands there not exactly once ends the run: the list is out of date."""
    path = folder / breakage.file
    text = path.read_text()
    if text.count(breakage.old) != 1:
        raise SystemExit(f"{breakage.name}: its text stands {text.count(breakage.old)} times in {breakage.file}")
    path.write_text(text.replace(breakage.old, breakage.new))


def survives(breakage: Breakage) -> bool:
    """Try one breakage; True if no test noticed it."""
    with tempfile.TemporaryDirectory() as name:
        folder = copied(Path(name))
        broken(folder, breakage)
        return not red(folder, breakage.tests)


def healthy() -> bool:
    """Whether the named tests pass on the code as it is, from a copy like every mutant's."""
    with tempfile.TemporaryDirectory() as name:
        return not red(copied(Path(name)), tuple(dict.fromkeys(test for b in BREAKAGES for test in b.tests)))


def main(names: list[str]) -> int:
    """Run all, or those named."""
    chosen = [b for b in BREAKAGES if not names or b.name in names]
    if not names and not healthy():
        print("the named tests fail without any breakage")
        return 1
    survivors = 0
    for breakage in chosen:
        start = time.monotonic()
        alive = survives(breakage)
        survivors += alive
        print(f"{'SURVIVES' if alive else 'red     '} {time.monotonic() - start:5.1f} s  {breakage.name}", flush=True)
    print(f"{len(chosen) - survivors} of {len(chosen)} breakages turned a test red")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
