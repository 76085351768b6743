"""The layout's rules: who may import whom, and how long things may get."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAY_IMPORT: dict[str, set[str]] = {
    "config/errands_config": set(),
    "workers/errands_workers": {"errands_config"},
    "orchestrator/errands_orchestrator": {"errands_config"},
}
OURS = {Path(package).name for package in MAY_IMPORT}
PURE = {
    f"orchestrator/errands_orchestrator/{name}.py"
    for name in (
        "session", "stepper", "turn", "attach", "notices", "delivery", "digest", "compaction", "event_style", "texts",
        "room", "transcript", "transcript_chat", "transcript_responses", "late_outputs", "arrivals", "decisions",
        "injected", "made_call", "naming", "judging", "likeness", "dependencies", "references", "recording", "late",
    )
} | {
    f"config/errands_config/{name}.py"
    for name in (
        "policy", "decorated", "predicate", "compiled_predicate", "predicate_reasons", "policy_explained",
        "agent_notes", "glob", "hook_name",
    )
}  # fmt: skip
EFFECTS = {
    "redis",
    "celery",
    "kombu",
    "asyncio",
    "time",
    "datetime",
    "random",
    "secrets",
    "uuid",
    "uuid6",
    "os",
    "socket",
}
NO_NAMES = re.compile(r"(utils?|helpers?|common|manager|base|core|misc)$")


def python_files(*roots: str) -> Iterator[Path]:
    for root in roots:
        yield from sorted((ROOT / root).rglob("*.py"))


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Import(names=aliases):
                names |= {alias.name.split(".")[0] for alias in aliases}
            case ast.ImportFrom(module=str(module)):
                names.add(module.split(".")[0])
            case _:
                pass
    return names


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_a_package_imports_only_what_it_may(package: str) -> None:
    allowed = MAY_IMPORT[package] | {Path(package).name}

    broken = {str(path): wrong for path in python_files(package) if (wrong := (imported(path) & OURS) - allowed)}

    assert broken == {}


@pytest.mark.parametrize("path", sorted(PURE))
def test_what_decides_imports_nothing_that_acts_or_reads_a_clock(path: str) -> None:
    assert imported(ROOT / path) & EFFECTS == set()


@pytest.mark.parametrize("folder", ["orchestrator", "workers", "config"])
def test_a_root_folder_holds_no_loose_module(folder: str) -> None:
    assert list((ROOT / folder).glob("*.py")) == []


def test_only_the_worker_side_and_the_dispatcher_know_celery() -> None:
    allowed = {"orchestrator/errands_orchestrator/dispatcher.py"}

    users = {
        str(path.relative_to(ROOT))
        for path in python_files("config", "orchestrator")
        if imported(path) & {"celery", "kombu", "billiard"}
    }

    assert users == allowed


def test_no_file_is_too_long_to_be_read_in_one_go() -> None:
    limits = {"orchestrator": 350, "workers": 350, "config": 350, "bench": 350, "docs": 350, "tests": 500}

    long = {
        str(path.relative_to(ROOT)): lines
        for root, limit in limits.items()
        for path in python_files(root)
        if (lines := path.read_text().count("\n")) > limit
    }

    assert long == {}


def test_functions_are_short_and_most_are_very_short() -> None:
    lengths = {
        f"{path.relative_to(ROOT)}:{node.name}": (node.end_lineno or 0) - node.lineno + 1
        for path in python_files("orchestrator", "workers", "config")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    ordered = sorted(lengths.values())

    assert {name: length for name, length in lengths.items() if length > 50} == {}
    assert ordered[len(ordered) // 2] <= 8
    assert ordered[len(ordered) * 9 // 10] <= 35


def test_files_are_named_by_what_they_do() -> None:
    assert [path for path in python_files(*MAY_IMPORT) if NO_NAMES.search(path.stem)] == []


def test_no_subprocess_goes_through_a_shell() -> None:
    shell = re.compile(r"shell\s*=\s*True|os\.system\(|os\.popen\(")

    assert [path for path in python_files(*MAY_IMPORT) if shell.search(path.read_text())] == []
