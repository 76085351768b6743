"""How the program starts: fast, with little, and without what only an orchestrator has."""

import subprocess
import sys

from tests.acceptance.person import COMMAND, Person

HEAVY = ("openai", "celery", "redis", "hypothesis")


def loaded_by(*words: str) -> str:
    """The heavy modules that a command imports."""
    program = (
        "import sys; from errands_orchestrator.cli import run_command\n"
        f"code = run_command({list(words)!r})\n"
        f"print(code, [name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stderr.strip()


def test_help_imports_no_command_and_shows_the_exit_codes(person: Person) -> None:
    done = person.types("--help")

    assert done.code == 0
    assert "  8  paused for another reason and resumable" in done.out
    assert loaded_by("--help") == "0 []"


def test_a_worker_starts_where_there_is_no_openai_package() -> None:
    blocked = f"import sys; sys.modules['openai'] = None\n{COMMAND[-1]}"

    done = subprocess.run(
        [sys.executable, "-c", blocked, "worker", "--help"], capture_output=True, text=True, check=True
    )

    assert "--slots" in done.stdout


def test_looking_at_a_store_needs_no_model_and_no_celery(person: Person) -> None:
    done = person.types("doctor", "--json")

    assert done.code == 0
    assert loaded_by("calls", "--help") == "0 ['redis']"


def test_output_has_no_colour_off_a_terminal(person: Person) -> None:
    assert "\x1b" not in person.types("run", "--help").out
