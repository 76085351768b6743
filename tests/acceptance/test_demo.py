"""The demo: what a newcomer sees, from the first command to the answer."""

from tests.acceptance.person import Person

from errands_orchestrator.cli.demo import EXAMPLES


def test_the_demo_tells_the_whole_story_and_leaves_nothing_behind(person: Person) -> None:
    before = project_files()

    done = person.types("demo", within=60)

    assert done.code == 0
    told = iter(done.out.splitlines())
    for part in (
        "calls bash_run_tests (call_tests)",
        "calls bash_lint (call_lint)",
        "✓ bash_lint (call_lint) completed",
        '{"status":"',
        "All checks passed!",
        "calls bash_find_flaky_tests (call_flaky)",
        "tool call call_tests (bash_run_tests) notifies:",
        "calls cancel-tool-call (call_stop)",
        "✗ bash_find_flaky_tests (call_flaky) cancelled",
        "✓ bash_run_tests (call_tests) completed",
        "tool_call_id call_tests (bash_run_tests) completed:",
        "12 passed",
        "The project is ready",
    ):
        assert any(part in line for line in told), f"{part!r} comes in its turn in:\n{done.out}"
    assert project_files() == before
    assert not (person.folder / "home").exists()


def project_files() -> dict[str, float]:
    """Everything beside the demo, hidden files too, and when it was changed."""
    return {str(path): path.stat().st_mtime for path in EXAMPLES.rglob("*")}


def test_without_its_folder_the_demo_says_where_to_get_it(person: Person) -> None:
    done = person.types("demo", "--folder", str(person.folder))

    assert done.code == 3
    assert "make demo" in done.err
    assert "Traceback" not in done.err
