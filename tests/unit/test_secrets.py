"""The secrets of a worker: its file, the defaults of its agents, and what is told about both."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from errands_config.errors import ConfigError
from errands_config.parameter_sources import Unread
from errands_config.settings import Settings
from errands_orchestrator.cli.checks.home import PathFacts, secrets_file_finding
from errands_workers.plan import WorkerPlan
from errands_workers.printed import keep_out_of_output
from errands_workers.secrets import Secrets, load_secrets

pytestmark = pytest.mark.usefixtures("clean_environment")


def write(path: Path, content: object, mode: int = 0o600) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    path.chmod(mode)
    return path


def agent(path: Path, slug: str, **parameters: dict[str, Any]) -> Path:
    listed = [{"name": name, **more} for name, more in parameters.items()]
    path.write_text(json.dumps({"slug": slug, "parameters": listed}))
    return path


def secret(tag: str, contents: str) -> dict[str, Any]:
    return {"secret": True, "default": {"tag": tag, "contents": contents}}


def load(file: Path | None, *agents: Path) -> Secrets:
    return load_secrets(Settings(secrets_file=file), WorkerPlan(agents=agents))


def refusal(file: Path) -> str:
    with pytest.raises(ConfigError) as raised:
        load(file)
    assert raised.value.path == "ERRANDS_SECRETS_FILE"
    return str(raised.value)


# ---- the file


def test_a_secret_is_found_by_its_name(tmp_path: Path) -> None:
    secrets = load(write(tmp_path / "s", {"KEY": "swordfish", "EMPTY": ""}))
    assert secrets.named("KEY") == "swordfish"
    assert secrets.named("EMPTY") == ""


def test_a_missing_secret_is_told_by_its_name() -> None:
    assert load(None).named("KEY") == Unread("secret KEY is not in this worker's ERRANDS_SECRETS_FILE")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_a_file_that_others_may_read_is_refused(mode: int, tmp_path: Path) -> None:
    file = write(tmp_path / "s", {"KEY": "swordfish"}, mode)
    assert f"others may read it: chmod 600 {file}" in refusal(file)
    file.chmod(0o400)
    assert load(file).named("KEY") == "swordfish"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('["swordfish"]', 'a JSON object of strings is expected: {"name": "value"}'),
        ('{"KEY": 4711}', "the value of 'KEY' is no string"),
        ('{"KEY": {"a": "swordfish"}}', "the value of 'KEY' is no string"),
        ('{"KEY": "swordfish"', "not valid JSON at line 1"),
        ('{"KEY": "swordfish", "KEY": "b"}', "this key stands here more than once"),
        ('{"KEY": "swordfish\\u0000"}', "the value of 'KEY' cannot be used: it holds a NUL character"),
        ("", "not valid JSON"),
    ],
)
def test_a_file_of_another_form_is_refused_and_its_content_not_repeated(
    content: str, says: str, tmp_path: Path
) -> None:
    said = refusal(write(tmp_path / "s", content))
    assert says in said
    assert "swordfish" not in said
    assert "4711" not in said


def test_a_file_that_is_not_there_or_no_file_is_refused(tmp_path: Path) -> None:
    assert "No such file" in refusal(tmp_path / "none")
    assert "directory" in refusal(tmp_path)


# ---- defaults of secret parameters


def test_the_default_of_a_secret_parameter_belongs_to_its_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_TOKEN", "from a variable")
    (tmp_path / "key").write_text("from a file\n")
    one = agent(tmp_path / "1.json", "one", key=secret("FileSystem", "key"), token=secret("EnvVar", "TEST_TOKEN"))
    two = agent(tmp_path / "2.json", "two", key=secret("Command", "echo from a command"))
    secrets = load(None, one, two)
    assert secrets.of_parameter("one", "key") == "from a file"
    assert secrets.of_parameter("one", "token") == "from a variable"
    assert secrets.of_parameter("two", "key") == "from a command"
    assert isinstance(secrets.of_parameter("two", "token"), Unread)
    assert isinstance(secrets.named("key"), Unread)


def test_the_file_comes_before_a_default_which_is_not_even_read(tmp_path: Path) -> None:
    one = agent(tmp_path / "1.json", "one", key=secret("Command", "touch ran"))
    assert load(write(tmp_path / "s", {"key": "mine"}), one).of_parameter("one", "key") == "mine"
    assert not (tmp_path / "ran").exists()


def test_a_default_that_cannot_be_read_is_told_when_it_is_needed(tmp_path: Path) -> None:
    one = agent(tmp_path / "1.json", "one", key=secret("EnvVar", "TEST_NO_SUCH"))
    missing = load(None, one).of_parameter("one", "key")
    assert isinstance(missing, Unread)
    assert "ERRANDS_SECRETS_FILE" in missing.why
    assert "the variable TEST_NO_SUCH is not set" in missing.why


def test_what_is_not_secret_is_no_business_of_a_worker(tmp_path: Path) -> None:
    one = agent(tmp_path / "1.json", "one", city={"default": {"tag": "Command", "contents": "touch ran"}})
    load(None, one)
    assert not (tmp_path / "ran").exists()


def test_no_secret_shows_in_the_repr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_TOKEN", "swordfish")
    one = agent(tmp_path / "1.json", "one", token=secret("EnvVar", "TEST_TOKEN"))
    secrets = load(write(tmp_path / "s", {"KEY": "swordfish"}), one)
    assert repr(secrets) == str(secrets) == "<Secrets: 1 named, 1 of parameters>"


# ---- what is printed


def test_what_is_printed_and_logged_has_no_secret_that_the_worker_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdout", sys.stdout)  # both are given back afterwards
    monkeypatch.setattr(sys, "stderr", sys.stderr)
    (tmp_path / "key").write_text("from a file\n")
    one = agent(tmp_path / "1.json", "one", key=secret("FileSystem", "key"))

    keep_out_of_output(load(write(tmp_path / "s", {"KEY": "swordfish"}), one).known)
    print("the key is", "swordfish", "from a file", flush=True)
    sys.stderr.writelines(["with swordfish\n", "and without\n"])
    logging.StreamHandler(sys.stderr).emit(logging.makeLogRecord({"msg": "logged: swordfish"}))

    printed = capsys.readouterr()
    assert printed.out == "the key is [secret KEY] [secret one key]\n"
    assert printed.err == "with [secret KEY]\nand without\nlogged: [secret KEY]\n"


def test_without_secrets_the_output_is_left_as_it_is() -> None:
    before = (sys.stdout, sys.stderr)
    keep_out_of_output(Secrets().known)
    assert (sys.stdout, sys.stderr) == before


# ---- what the doctor says


FILE = PathFacts("/s", 0o100600, size=9)


@pytest.mark.parametrize(
    ("file", "level", "says"),
    [
        (FILE, "ok", "for its owner alone"),
        (PathFacts("/s"), "wrong", "no file /s"),
        (PathFacts("/s", 0o100640, size=9), "wrong", "mode 640: others can read the secrets"),
        (PathFacts("/s", 0o100600, ours=False, size=9), "wrong", "belongs to another user"),
        (PathFacts("/s", 0o040700, size=9), "wrong", "is no file with secrets in it"),
        (PathFacts("/s", 0o100600), "wrong", "is no file with secrets in it"),
    ],
)
def test_the_doctor_tells_about_a_secrets_file_that_cannot_be_used(file: PathFacts, level: str, says: str) -> None:
    finding = secrets_file_finding(file)
    assert finding.level == level
    assert says in finding.text
    assert bool(finding.advice) == (level == "wrong")
