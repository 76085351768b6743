"""What an executable may say about itself, and which executables may be asked."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from errands_config.errors import ConfigError
from errands_workers.kinds import describe as module
from errands_workers.kinds.describe import Description, describe, schema_of

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


def script(folder: Path, body: str, mode: int = 0o755) -> Path:
    path = folder / "tool"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(mode)
    return path


def answering(folder: Path, answer: object) -> Path:
    return script(folder, f"cat <<'END'\n{answer if isinstance(answer, str) else json.dumps(answer)}\nEND")


def described(**argument: Any) -> dict[str, Any]:
    said = Description.model_validate({"slug": "s", "args": [{"name": "a", **argument}]})
    return schema_of(said)


@pytest.mark.parametrize(
    ("argument", "wanted"),
    [
        ({}, {"type": "string"}),
        ({"type": "integer"}, {"type": "integer"}),
        ({"type": "path"}, {"type": "string"}),
        ({"type": "path", "backing_type": "number"}, {"type": "number"}),
        ({"type": "integer", "backing_type": "boolean"}, {"type": "boolean"}),
        ({"arity": "multiple", "type": "number"}, {"type": "array", "items": {"type": "number"}}),
        ({"description": "How \u001b[1mmany.\u0000"}, {"type": "string", "description": "How many.\u2400"}),
    ],
)
def test_the_schema_of_an_argument_follows_its_backing_type_else_its_type(
    argument: dict[str, Any], wanted: dict[str, Any]
):
    assert described(**argument)["properties"]["a"] == wanted


@pytest.mark.parametrize(
    ("argument", "required"),
    [
        ({}, True),
        ({"required": False}, False),
        ({"arity": "optional"}, False),
        ({"arity": "single", "required": False}, True),
        ({"arity": "multiple"}, False),
        ({"arity": "multiple", "required": True}, True),
    ],
)
def test_an_argument_is_required_unless_arity_or_required_say_otherwise(argument: dict[str, Any], required: bool):
    schema = described(**argument)
    assert ("a" in schema["required"], schema["additionalProperties"]) == (required, False)


def test_a_script_is_asked_and_its_answer_read_whatever_else_it_says(tmp_path: Path):
    path = script(tmp_path, 'echo noise >&2; printf \'{"slug": "a b/c", "colour": 1, "empty-result": %s}\' "$EMPTY"')
    said = describe(path, ENVIRONMENT | {"EMPTY": '{"tag": "AddMessage", "contents": "all quiet"}'})
    assert (said.tool_name, said.when_empty) == ("bash_a_b_c", "all quiet")
    assert describe(path, ENVIRONMENT | {"EMPTY": '{"tag": "DoNothing"}'}).when_empty == "(no output)"


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("not JSON", "describe answered no JSON: 'not JSON'"),
        ("", "describe answered no JSON"),
        ([], "describe"),
        ({"description": "no slug"}, "describe: slug: Field required"),
        ({"slug": ""}, "describe: slug"),
        ({"slug": "s", "args": [{"name": "a", "mode": "telepathy"}]}, r"describe: args\.0\.mode"),
        ({"slug": "s", "args": [{"name": "a", "arity": "few"}]}, r"describe: args\.0\.arity"),
        ({"slug": "s", "args": [{"name": "--a"}]}, r"describe: args\.0\.name"),
        ({"slug": "s", "args": [{"name": "a"}, {"name": "a"}]}, "names the argument a twice"),
        ({"slug": "s", "args": [{"name": "a-b", "mode": "env"}]}, "cannot be the name of an environment variable"),
        ({"slug": "s", "empty-result": {"tag": "Other"}}, "describe: empty-result"),
    ],
)
def test_an_answer_that_cannot_be_used_is_refused_with_path_and_reason(tmp_path: Path, answer: object, text: str):
    path = answering(tmp_path, answer)
    with pytest.raises(ConfigError, match=text) as refused:
        describe(path, ENVIRONMENT)
    assert str(path) in str(refused.value)


def test_a_script_that_fails_or_cannot_be_run_is_refused(tmp_path: Path):
    with pytest.raises(ConfigError, match="describe ended with exit code 3"):
        describe(script(tmp_path, "echo '{}'; exit 3"), ENVIRONMENT)
    (tmp_path / "tool").write_text("#!/no/such/interpreter\n")
    with pytest.raises(ConfigError, match="cannot be run"):
        describe(tmp_path / "tool", ENVIRONMENT)


def test_a_script_that_does_not_answer_in_time_is_killed_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "DESCRIBE_SECONDS", 0.2)
    began = time.monotonic()
    with pytest.raises(ConfigError, match="did not answer within"):
        describe(script(tmp_path, "sleep 1000 & sleep 1000"), ENVIRONMENT)
    assert time.monotonic() - began < 3


@pytest.mark.parametrize(("mode", "text"), [(0o644, "not a regular executable"), (0o757, "everybody may write to it")])
def test_a_file_that_may_not_be_run_is_not_even_asked(tmp_path: Path, mode: int, text: str):
    path = script(tmp_path, f"touch {tmp_path}/asked", mode)
    with pytest.raises(ConfigError, match=text):
        describe(path, ENVIRONMENT)
    assert not (tmp_path / "asked").exists()


def test_a_folder_is_no_executable(tmp_path: Path):
    with pytest.raises(ConfigError, match="not a regular executable"):
        describe(tmp_path, ENVIRONMENT)
