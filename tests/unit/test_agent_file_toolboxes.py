"""Where the toolboxes of an agent file are found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.agent_file_texts import agent_of

from errands_config.errors import ConfigError
from errands_config.toolboxes import PythonModule, Script, ScriptFolder, toolboxes_of


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    """The folder of the agent file."""
    folder = tmp_path / "agents"
    folder.mkdir()
    return folder


@pytest.fixture
def working(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def directory(**contents: str) -> dict[str, Any]:
    return {"tag": "FileSystemDirectory", "contents": contents}


def single(path: str) -> dict[str, Any]:
    return {"tag": "SingleTool", "contents": {"Path": path}}


def test_all_forms_are_found_in_file_order(beside: Path, working: Path) -> None:
    for folder in (beside / "tools", beside / "more", working / "cwd"):
        folder.mkdir()
    (beside / "one.sh").touch()
    agent = agent_of(
        bashToolboxes=[single("one.sh"), directory(Path="tools", BasenameFilter="*.sh", Cwd="cwd")],
        functionToolboxes=[{"tag": "Module", "contents": {"Module": "my_tools"}}],
        toolDirectory="more",
    )
    assert toolboxes_of(agent, beside) == (
        Script(beside / "one.sh"),
        ScriptFolder(beside / "tools", basename_filter="*.sh", cwd=working / "cwd"),
        ScriptFolder(beside / "more"),
        PythonModule("my_tools"),
    )


def test_the_folder_of_the_agent_file_comes_before_the_working_folder(beside: Path, working: Path) -> None:
    agent = agent_of(toolDirectory="tools")
    (working / "tools").mkdir()
    assert toolboxes_of(agent, beside) == (ScriptFolder(working / "tools"),)
    (beside / "tools").mkdir()
    assert toolboxes_of(agent, beside) == (ScriptFolder(beside / "tools"),)


def test_a_file_is_no_folder_and_a_folder_is_no_file(beside: Path, working: Path) -> None:
    (beside / "x").touch()
    (working / "x").mkdir()
    agent = agent_of(bashToolboxes=[single("x"), directory(Path="x")])
    assert toolboxes_of(agent, beside) == (Script(beside / "x"), ScriptFolder(working / "x"))


def test_an_absolute_path_is_looked_up_as_it_is(beside: Path, working: Path) -> None:
    assert toolboxes_of(agent_of(toolDirectory=str(working)), beside) == (ScriptFolder(working),)


def test_paths_do_not_depend_on_a_later_change_of_folder(
    beside: Path, working: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (beside / "tools").mkdir()
    monkeypatch.chdir(beside.parent)
    (found,) = toolboxes_of(agent_of(toolDirectory="tools"), Path("agents"))
    monkeypatch.chdir(working)
    assert found == ScriptFolder(beside / "tools")


@pytest.mark.parametrize(
    ("keys", "key", "wanted"),
    [
        ({"toolDirectory": "nowhere"}, "toolDirectory", "folder"),
        ({"bashToolboxes": [single("nowhere")]}, "bashToolboxes[0].contents.Path", "file"),
        ({"bashToolboxes": [directory(Path=".", Cwd="nowhere")]}, "bashToolboxes[0].contents.Cwd", "folder"),
        (
            {"bashToolboxes": [directory(Path="."), directory(Path="nowhere")]},
            "bashToolboxes[1].contents.Path",
            "folder",
        ),
    ],
)
def test_a_missing_path_is_named_with_its_key_and_both_places(
    beside: Path, working: Path, keys: dict[str, Any], key: str, wanted: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        toolboxes_of(agent_of(**keys), beside)
    assert raised.value.path == key
    assert str(raised.value) == (
        f'{key}: no {wanted} "nowhere"; looked at {beside / "nowhere"} and {working / "nowhere"}'
    )


def test_one_place_is_named_once_where_both_are_the_same(working: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        toolboxes_of(agent_of(toolDirectory="nowhere"), working)
    assert str(raised.value) == f'toolDirectory: no folder "nowhere"; looked at {working / "nowhere"}'


def test_an_agent_without_toolboxes_has_none(beside: Path) -> None:
    assert toolboxes_of(agent_of(), beside) == ()
