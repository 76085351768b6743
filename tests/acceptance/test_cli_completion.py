"""`errands completion`: a shell takes the script, and completes with it what a person begins to type."""

import subprocess
from pathlib import Path

import pytest
from tests.acceptance.person import Here

from errands_orchestrator.cli.root import root

COMMANDS = [name for name in root if not name.startswith("-")]
ASK = """
source "$0"
COMP_WORDS=(errands "$@") COMP_CWORD=$# COMP_LINE="errands $*"
_errands
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def script(here: Here) -> Path:
    done = here.types("completion", "bash")
    assert (done.code, done.err) == (0, "")
    file = here.folder / "completion.bash"
    file.write_text(done.out)
    return file


def completed(script: Path, *words: str) -> set[str]:
    """What bash offers for the last of these words."""
    done = subprocess.run(
        ["bash", "-c", ASK, script, *words], cwd=script.parent, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return set(done.stdout.split())


def test_bash_accepts_the_script(script: Path) -> None:
    done = subprocess.run(["bash", "-n", script], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_every_command_is_offered(script: Path) -> None:
    assert completed(script, "") == set(COMMANDS) >= {"run", "up", "flower", "completion"}
    assert completed(script, "co") == {"completion"}


def test_commands_below_a_command_options_and_files_are_offered(script: Path) -> None:
    assert {"check", "schema", "list"} <= completed(script, "agent", "")
    assert "--agent-file" in completed(script, "up", "--a")
    assert "agent.json" in completed(script, "up", "--agent-file", "ag")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_their_own_script_that_names_our_commands(here: Here, shell: str) -> None:
    done = here.types("completion", shell)

    assert done.code == 0
    assert [name for name in COMMANDS if name not in done.out] == []


def test_an_unknown_shell_is_a_usage_error(here: Here) -> None:
    assert here.types("completion", "csh").code == 2
