"""`errands up`: one command runs all that development needs, keeps it running, and leaves nothing behind."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.desk import a_store, a_worker
from tests.acceptance.person import Done, Person
from tests.acceptance.screen import screen
from tests.acceptance.up_scene import Running, agent_files, nothing_runs, running_up
from tests.waiting import eventually

from errands_config.wire import CallState
from errands_orchestrator.cli.keeping import SHORT_LIFE_SECONDS
from errands_workers.processes import children


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One that is there for many tests. Each leaves it whole; at last one Ctrl-C ends it."""
    folder = tmp_path_factory.mktemp("up")
    first, second = agent_files(folder)
    with running_up(Person.at(folder), "--agent-file", first, "--agent-file", second) as up:
        yield up


def call(up: Running, tool: str, **arguments: str) -> str:
    """Call a tool, as soon as it is offered; answers its result."""

    def done() -> list[Done]:
        done = up.person.types("tools", "call", tool, "--args", json.dumps(arguments))
        return [] if "no live worker offers" in done.err else [done]

    [called] = eventually(done, within=20, saying=f"{tool} is offered")
    assert called.code == 0, called.err
    return called.out.strip()


def test_the_tools_of_all_its_agents_are_served_on_every_queue_that_a_tool_or_a_policy_names(up: Running) -> None:
    assert call(up, "paint", colour="blue") == "painted blue"
    assert call(up, "bash_fake", mode="say", text="hello") == "hello"

    def workers() -> list[str]:
        found = json.loads(up.person.types("doctor", "--json").out)
        return [one["text"] for one in found if one["check"] == "workers"]

    eventually(lambda: len(workers()) == 1, saying="what other tests killed is settled")
    [worker] = workers()
    assert "4 slots on default, " in worker
    assert {"gpu", "slow"} <= set(worker.replace(",", "").split())


def test_an_agent_is_known_by_its_slug_and_its_sessions_are_stepped(up: Running) -> None:
    assert {one["agent"] for one in up.told("published")} == {"scripts", "painter"}
    known = json.loads(up.person.types("agent", "list", "--json").out)
    assert {one["slug"] for one in known} >= {"scripts", "painter"}

    done = up.person.types("run", "painter.json", "paint it red")

    assert (done.code, done.out) == (0, "It is red.\n")
    assert "starting one" not in done.err


def test_a_killed_worker_is_started_again_and_its_death_is_told_with_its_last_words(up: Running) -> None:
    eventually(lambda: "worker.ready" in up.log("worker"), within=20)
    before, deaths = up.pid("worker"), len(up.told("died", part="worker"))

    os.kill(before, signal.SIGKILL)

    died = up.tells("died", deaths + 1, part="worker")
    assert died["exit_code"] == -signal.SIGKILL
    assert "worker." in died["last_words"]
    eventually(lambda: up.pid("worker") != before, within=SHORT_LIFE_SECONDS)
    assert call(up, "paint", colour="green") == "painted green"


def test_a_killed_orchestrator_is_started_again(up: Running) -> None:
    before, deaths = up.pid("orchestrator"), len(up.told("died", part="orchestrator"))

    os.kill(before, signal.SIGKILL)

    assert up.tells("died", deaths + 1, part="orchestrator")["exit_code"] == -signal.SIGKILL
    eventually(lambda: up.pid("orchestrator") != before, within=SHORT_LIFE_SECONDS)
    assert up.person.types("run", "painter.json", "again").out == "It is red.\n"


def test_a_killed_store_is_started_again_on_its_data(up: Running) -> None:
    before, deaths = up.store_pid, len(up.told("died", part="store"))

    os.kill(before, signal.SIGKILL)

    assert "Ready to accept connections" in up.tells("died", deaths + 1, part="store")["last_words"]
    assert up.store_pid != before
    assert call(up, "paint", colour="grey") == "painted grey"


def test_what_a_worker_process_dies_of_is_told_too(up: Running) -> None:
    lives = len(up.told("log", kind="worker.ended"))

    os.kill(children(up.pid("worker"))[0], signal.SIGKILL)

    assert "end=died" in up.tells("log", lives + 1, kind="worker.ended")["detail"]
    assert call(up, "paint", colour="black") == "painted black"


def test_a_second_one_in_the_same_home_is_refused_and_says_what_is_there(up: Running) -> None:
    done = up.person.types("up", "--agent-file", "painter.json")

    assert done.code == 5
    assert f"process {up.typed.process.pid}, agents scripts, painter" in done.err
    assert not up.told("died", part="painter")


def test_the_status_shows_a_call_while_it_runs(up: Running) -> None:
    sleeping = up.person.begins("tools", "call", "bash_fake", "--args", '{"mode": "sleep"}')

    status = up.tells("status", calls_running=1, busy_slots=1)

    assert (status["busy_slots"], status["slots"], status["store"]) == (1, 4, "ok")
    sleeping.press_ctrl_c()
    assert sleeping.done().code == 1
    up.tells("status", calls_running=0)


def begun(folder: Path) -> Person:
    agent_files(folder)
    return Person.at(folder)


def running_call(up: Running, tool: str, **arguments: str) -> str:
    """Begin a call and wait until it runs; the process that asked for it goes. Answers the worker."""
    asking = up.person.begins("tools", "call", tool, "--args", json.dumps(arguments))
    up.tells("status", calls_running=1)
    asking.process.kill()
    return up.incarnation()


def test_one_request_stops_all_of_it_in_order_and_the_running_call_ends_by_itself(tmp_path: Path) -> None:
    with running_up(begun(tmp_path), "--agent-file", "scripts.json") as up:
        worker = running_call(up, "bash_gate", file=str(tmp_path / "file"))
        up.typed.process.terminate()
        assert up.tells("stopping")["busy"] == 1

        (tmp_path / "file").touch()

        assert up.typed.done().code == 0
        assert [one["part"] for one in up.told("stopped")] == ["orchestrator", "worker"]
        assert nothing_runs(up.home, worker)
        assert up.typed.err == ""
        [row] = json.loads(up.person.types("calls", "ls", "--json").out)
        assert row["status"] == CallState.COMPLETED


def test_on_a_terminal_the_status_stands_in_the_last_line_and_ctrl_c_stops_it_all(tmp_path: Path) -> None:
    person = begun(tmp_path)
    with screen(person, "up", "--agent-file", "scripts.json") as shown:
        shown.shows("ready; Ctrl-C stops everything")
        line = "workers: 1 · slots: 0 of 4 busy · sessions running: 0 · calls: 0 running, 0 queued · store: ok"
        shown.shows_line(line)
        assert shown.lines[-1] == line

        shown.presses("C-c")

        assert shown.done() == 0
        assert "worker: stopped" in shown.lines
    assert nothing_runs(tmp_path / "home")  # the shell on the terminal is gone only now


def test_a_second_ctrl_c_ends_the_calls_and_the_exit_code_says_so(tmp_path: Path) -> None:
    with running_up(begun(tmp_path), "--agent-file", "scripts.json", "--slots", "1") as up:
        worker = running_call(up, "bash_fake", mode="deaf")
        up.typed.press_ctrl_c()
        assert up.tells("stopping")["busy"] == 1
        up.tells("stopped", part="orchestrator")

        up.typed.press_ctrl_c()

        assert up.typed.done(within=15).code == 1
        assert up.told("stopped", part="worker")[0]["exit_code"] == 1
        assert nothing_runs(up.home, worker)


def test_one_that_is_killed_leaves_nothing_running(tmp_path: Path) -> None:
    with running_up(begun(tmp_path), "--agent-file", "scripts.json") as up:
        worker = running_call(up, "bash_gate", file=str(tmp_path / "file"))

        up.typed.process.kill()

        (tmp_path / "file").touch()
        up.typed.process.wait()
        eventually(lambda: nothing_runs(up.home, worker), within=15, saying="nothing runs any more")


def test_no_worker_is_started_beside_another_one_until_that_is_gone(tmp_path: Path) -> None:
    person = begun(tmp_path)
    with a_store(tmp_path / "store") as settings:
        person = person.with_store(settings)
        with (
            a_worker(settings, tmp_path / "log", str(tmp_path / "scripts.json"), default_tools=False) as other,
            running_up(person, "--agent-file", "scripts.json") as up,
        ):
            assert "agent scripts: a worker that is there already" in up.told("note")[-1]["text"]
            assert up.told("started", part="worker") == []

            assert other.stop() == 0

            up.tells("started", part="worker")
            assert call(up, "bash_fake", mode="say", text="here") == "here"
            up.typed.press_ctrl_c()
            assert up.typed.done().code == 0


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ([], 2, "agent-file"),
        (["nowhere.json"], 3, "nowhere.json"),
        (["broken.json"], 3, "module not_there cannot be imported"),
        (["painter.json", "twin.json"], 3, "both have slug painter"),
    ],
)
def test_what_cannot_come_up_is_told_and_leaves_nothing_running(
    tmp_path: Path, words: list[str], code: int, says: str
) -> None:
    person = begun(tmp_path)
    module = {"tag": "Module", "contents": {"Module": "not_there"}}
    (tmp_path / "broken.json").write_text(json.dumps({"slug": "broken", "functionToolboxes": [module]}))
    (tmp_path / "twin.json").write_text(json.dumps({"slug": "painter"}))

    done = person.types("up", *(["--agent-file", *words] if words else []))

    assert done.code == code
    assert says in done.err
    assert nothing_runs(tmp_path / "home")


def test_a_store_that_is_not_there_is_told(tmp_path: Path) -> None:
    person = begun(tmp_path).having(ERRANDS_REDIS_URL="redis://127.0.0.1:1/0")

    done = person.types("up", "--agent-file", "scripts.json")

    assert done.code == 7
    assert nothing_runs(tmp_path / "home")
