"""`errands worker` as a person meets it: what it refuses and how it stops."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.acceptance.desk import ROOT, Desk, a_store, a_worker, below
from tests.waiting import eventually

from errands_config import keys
from errands_config.settings import Settings
from errands_config.wire import CallState


def _worker(*words: str, url: str = "redis://127.0.0.1:1") -> subprocess.CompletedProcess[str]:
    """Run a worker that is to refuse; it sees no variable of ours."""
    return subprocess.run(
        [sys.executable, "-m", "errands_workers", *words],
        env={"PATH": os.environ["PATH"], "ERRANDS_REDIS_URL": url},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        ([], 3, "nothing to serve: name an agent file, --tools DIR or --module NAME"),
        (["--tools", "no/such/folder"], 3, "no folder"),
        (["no-such-agent.json"], 3, "no such agent file"),
        (["--module", "json", "--queues", "a:b"], 3, "--queues: 'a:b': a name of 1 to 64 letters"),
        (["--module", "json", "--slots", "0"], 3, "--slots: at least 1 is expected"),
        (["--module", "json", "--hooks", "nowhere"], 3, "--hooks: no folder"),
        (["--module", "json", "--", "-P", "threads"], 3, "--pool: give it before the `--`"),
        (["--module", "json", "--pool", "gevent"], 2, "--pool"),
        (["--module", "json", "--quues", "a"], 2, "--quues"),
        (["--module", "json"], 7, "is not reachable"),
    ],
)
def test_what_cannot_be_served_is_refused_at_once_in_words(words: list[str], code: int, text: str):
    done = _worker(*words)
    assert (done.returncode, text in done.stderr) == (code, True), done.stderr


def test_a_module_without_tools_or_with_a_name_twice_ends_the_worker_with_the_reason(tmp_path: Path):
    with a_store(tmp_path / "home") as settings:
        url = settings.redis_url or ""
        done = _worker("--module", "json", url=url)
        assert (done.returncode, "module json has no function with @tool" in done.stderr) == (3, True)
        twin = tmp_path / "tools" / "twin"
        twin.parent.mkdir()
        twin.write_text('#!/bin/sh\necho \'{"slug": "fake"}\'\n')
        twin.chmod(0o755)
        done = _worker("--tools", "tests/tools/bash", "--tools", str(twin.parent), url=url)
        assert (done.returncode, "two tools are called bash_fake" in done.stderr) == (3, True)


def test_a_worker_that_is_told_to_stop_finishes_what_runs_and_takes_nothing_more(tmp_path: Path):
    with a_store(tmp_path / "home") as settings, a_worker(settings, tmp_path / "log", "--slots", "1") as worker:
        desk = Desk(worker.store)
        running = desk.call("wait_a_moment", duration=1)
        desk.running(running)
        queued = desk.call("add", a=1, b=2)
        assert worker.stop() == 0
        assert desk.state(running) == CallState.COMPLETED
        assert desk.state(queued) == CallState.QUEUED
        assert worker.incarnations() == []


def test_a_worker_that_is_told_to_stop_twice_ends_its_tools_and_says_what_was_lost(tmp_path: Path):
    with a_store(tmp_path / "home") as settings, a_worker(settings, tmp_path / "log", "--slots", "2") as worker:
        desk = Desk(worker.store)
        calls = [desk.call("bash_fake", mode="deaf"), desk.call("fake", mode="native")]
        pids = [desk.running(cid) for cid in calls]
        eventually(lambda: len(below(pids[0])) >= 8)
        worker.launcher.send_signal(signal.SIGINT)
        eventually(lambda: "worker.stopping" in worker.log.read_text())
        assert worker.stop(signal.SIGINT, within=5) == 1
        assert [desk.state(cid) for cid in calls] == [CallState.ORPHANED] * 2
        assert worker.tool_processes() == []


def test_a_worker_serves_the_queues_that_its_tools_name_or_that_it_is_told(tmp_path: Path):
    (tmp_path / "queued_tools.py").write_text(
        "from errands_workers import tool\n\n@tool(queue='gpu')\ndef paint() -> str:\n    'Paint.'\n    return 'done'\n"
    )
    with (
        a_store(tmp_path / "home") as settings,
        a_worker(
            settings, tmp_path / "log", "--module", "queued_tools", "--slots", "1", PYTHONPATH=str(tmp_path)
        ) as worker,
    ):
        desk = Desk(worker.store)
        assert desk.end(desk.call("paint", queue="gpu")).result == "done"
        assert desk.result("add", a=1, b=2) == 3


def test_an_agent_files_toolboxes_are_offered_under_its_slug(tmp_path: Path):
    agent = tmp_path / "agent.json"
    agent.write_text(
        '{"slug": "builder", "bashToolboxes": [{"tag": "FileSystemDirectory", "contents": '
        f'{{"Path": "{ROOT}/tests/tools/bash", "Cwd": "{tmp_path}"}}}}]}}'
    )
    with a_store(tmp_path / "home") as settings, _served(settings, tmp_path, agent) as worker:
        offer = worker.store.hget(keys.catalogue(worker.ready()), "bash_fake")
        assert '"agents":["builder"]' in str(offer)
        assert Desk(worker.store).result("bash_fake", mode="folder") == str(tmp_path)


def test_a_worker_serves_the_queues_that_the_policies_of_its_agents_name(tmp_path: Path):
    box = {"tag": "SingleTool", "contents": {"Path": f"{ROOT}/tests/tools/bash/fake"}}
    rule = {"tool": "bash_fake", "disposition": {"tag": "runAsync", "queue": "slow"}}
    agent = tmp_path / "agent.json"
    agent.write_text(json.dumps({"slug": "builder", "bashToolboxes": [box], "toolCallPolicyConfig": {"rules": [rule]}}))
    with a_store(tmp_path / "home") as settings, _served(settings, tmp_path, agent) as worker:
        desk = Desk(worker.store)
        for queue in ("slow", "default"):
            cid = desk.call("bash_fake", mode="say", text=queue, queue=queue)
            assert desk.end(cid).result == queue


def _served(settings: Settings, tmp_path: Path, agent: Path):
    return a_worker(settings, tmp_path / "log", str(agent), "--slots", "1", default_tools=False)
