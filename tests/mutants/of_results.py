"""Ways to break how long results and what running calls print are read."""

from __future__ import annotations

from tests.mutants.breakage import ORCHESTRATOR, SCRIPTS, WORKERS, Breakage

OF_RESULTS: tuple[Breakage, ...] = (
    Breakage(
        "show what looks like a notice in a page",
        f"{ORCHESTRATOR}/capabilities/result.py",
        '"text": found.framed(text[start:end]),',
        '"text": text[start:end],',
        ("tests/integration/test_loop_results.py",),
    ),
    Breakage(
        "read on in another text",
        f"{ORCHESTRATOR}/paging.py",
        "return position if position <= len(text) and found[2] == _fingerprint(text, position) else None",
        "return min(position, len(text))",
        ("tests/unit/test_paging.py",),
    ),
    Breakage(
        "cut lines at the end of a page",
        f"{ORCHESTRATOR}/paging.py",
        "return line_end if line_end and end < len(text) else end",
        "return end",
        ("tests/unit/test_paging.py",),
    ),
    Breakage(
        "leave out the last match of an answer that is full",
        f"{ORCHESTRATOR}/searching.py",
        "return Matches(tuple(lines[:-1]), begin)",
        "return Matches(tuple(lines[:-1]), line_end + 1)",
        ("tests/unit/test_searching.py",),
    ),
    Breakage(
        "tell a result again that was read to its end",
        f"{ORCHESTRATOR}/capabilities/result.py",
        "is_read = found.is_final and end == len(text)",
        "is_read = False",
        ("tests/integration/test_loop_results.py",),
    ),
    Breakage(
        "add a piece of output twice",
        f"{SCRIPTS}/output.lua",
        "return redis.call('APPEND', K.output, string.sub(A.text, there + 1))",
        "return redis.call('APPEND', K.output, A.text)",
        ("tests/integration/test_runner_output.py",),
    ),
    Breakage(
        "let a lost attempt print",
        f"{SCRIPTS}/output.lua",
        "if c[1] ~= 'running' or c[2] ~= A.token then return -1 end",
        "",
        ("tests/integration/test_runner_output.py",),
    ),
    Breakage(
        "keep the output of an attempt that is started again",
        f"{SCRIPTS}/requeue.lua",
        "redis.call('UNLINK', K.output)",
        "",
        ("tests/integration/test_loop_results.py",),
    ),
    Breakage(
        "leave output behind a forgotten call",
        f"{SCRIPTS}/forget_calls.lua",
        "redis.call('DEL', KEYS[at], KEYS[at + 1], KEYS[at + 2])",
        "redis.call('DEL', KEYS[at], KEYS[at + 1])",
        ("tests/integration/test_retention.py",),
    ),
    Breakage(
        "drop the last lines of a call that failed",
        f"{WORKERS}/runner.py",
        "reports.close(completed=isinstance(end, Outcome) and end.state is CallState.COMPLETED)",
        "reports.close(completed=True)",
        ("tests/acceptance/test_worker_calls.py::test_what_a_call_printed_is_kept_unless_it_has_a_result",),
    ),
    Breakage(
        "print past a hook",
        f"{WORKERS}/around/tool_call.py",
        "told = Unprinted(told)",
        "pass",
        (
            "tests/acceptance/test_worker_calls.py"
            "::test_nothing_of_what_a_script_prints_passes_by_a_hook_that_looks_at_its_result",
        ),
    ),
    Breakage(
        "pass on half of a line",
        f"{WORKERS}/kinds/output.py",
        'lines, newline, begun = data.rpartition(b"\\n")',
        'lines, newline, begun = data, b"", b""',
        ("tests/unit/test_bash_output.py",),
    ),
)
