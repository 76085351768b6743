"""Executables as hooks, one for each way in which a hook may answer or fail to; written into a folder by the tests."""

from pathlib import Path

_DEAF = "trap '' TERM; (trap '' TERM; setsid sleep 1000) & sleep 1000; sleep 1000"

SCRIPTS = {
    "allow": """echo '{"action": "continue"}'""",
    "change": """path="$(dirname "$0")/changed"
echo '{"action": "continue", "arguments": {"path": "'"$path"'", "text": "changed"}}'""",
    "misfit": """echo '{"action": "continue", "arguments": {"path": 1}}'""",
    "deny": """echo '{"action": "deny", "message": "not today"}'""",
    "defer": """echo '{"action": "defer", "reason": "ask Ada"}'""",
    "answer": """echo '{"action": "answer", "result": {"type": "json", "content": {"n": 1}}}'""",
    "record": """cat > "$(dirname "$0")/seen-$ERRANDS_TOOL_CALL_ID"; echo '{"action": "continue"}'""",
    "environment": """echo '{"action": "deny", "message": "'"$(env | sort | tr '\\n' ' ') $#"'"}'""",
    "note": """echo '{"action": "annotate", "text": "seen"}'""",
    "replace": """echo '{"action": "continue", "result": "another"}'""",
    "leave_behind": f"""({_DEAF}) & echo '{{"action": "continue"}}'""",
    "exit_1": """echo '{"action": "continue"}'; echo 'broken: 7' >&2; exit 1""",
    "killed": """kill -9 $$""",
    "hang": _DEAF,
    "garbage": """printf '\\377\\376'""",
    "silent": "",
    "no_json": "echo yes",
    "two_documents": """echo '{"action": "continue"} {"action": "continue"}'""",
    "unknown_action": """echo '{"action": "maybe"}'""",
    "misspelt": """echo '{"action": "continue", "argument": {}}'""",
    "large": """printf '{"action": "deny", "message": "'; head -c 2000000 /dev/zero | tr '\\0' x; printf '"}'""",
    "endless": "yes x",
    "not_executable": "echo '{}'",
    "world_writable": """echo '{"action": "continue"}'""",
}


def write_hooks(folder: Path) -> Path:
    """Write them all into a new folder, and beside it one that no worker may reach."""
    folder.mkdir(parents=True)
    for name, script in SCRIPTS.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    (folder / "not_executable").chmod(0o644)
    (folder / "world_writable").chmod(0o757)
    (folder / "no_program").write_text("#!/no/such/program\n")
    (folder / "no_program").chmod(0o755)
    outside = folder.parent / "outside"
    outside.write_text((folder / "allow").read_text())
    outside.chmod(0o755)
    (folder / "link_outside").symlink_to(outside)
    (folder / "a_folder").mkdir()
    return folder
