"""The code under test, copied once a run: what is edited meanwhile changes nothing, and its clock can be stepped.

Scripts know the store's TIME only through `clock.lua`. The copy of that file adds what stands under `OFFSET`, so the
clock that every script sees is stepped by writing one key. Streams and lives of keys keep the real clock.
"""

from __future__ import annotations

import hashlib
import importlib
import shutil
from pathlib import Path
from pkgutil import iter_modules

from errands_config import scripts
from errands_config.scripts.script import Script

ROOT = Path(__file__).parents[3]
PACKAGES = ("config/errands_config", "workers/errands_workers", "orchestrator/errands_orchestrator")
OFFSET = "faults:clock"
"""Milliseconds by which the scripts' clock is ahead of the store's. No key of the product begins like this."""

_CLOCK = ROOT / "config/errands_config/scripts/clock.lua"
_TRUE = "math.floor(t[2] / 1000)"
_STEPPED = f"{_TRUE} + tonumber(redis.call('GET', '{OFFSET}') or '0')"


def copy_code(folder: Path) -> Path:
    """Copy the three packages into a folder, which is to stand first in PYTHONPATH; answers it."""
    for package in PACKAGES:
        source = ROOT / package
        shutil.copytree(source, folder / source.name, ignore=shutil.ignore_patterns("__pycache__"))
    clock = folder / "errands_config/scripts/clock.lua"
    clock.write_text(with_stepped_clock(clock.read_text()))
    return folder


def with_stepped_clock(text: str) -> str:
    """A script's text as the copy has it. ValueError if the clock is not read as it used to be."""
    if text.count(_TRUE) != 1:
        raise ValueError(f"{_CLOCK} reads the store's clock in another way: see {__file__}")
    return text.replace(_TRUE, _STEPPED)


def shas() -> dict[str, str]:
    """The names by which processes of the copy call the scripts: script -> SHA-1."""
    modules = [importlib.import_module(f"{scripts.__name__}.{found.name}") for found in iter_modules(scripts.__path__)]
    every = [value for module in modules for value in vars(module).values() if isinstance(value, Script)]
    return {
        script.name: hashlib.sha1(with_stepped_clock(script.text).encode(), usedforsecurity=False).hexdigest()
        for script in every
    }
