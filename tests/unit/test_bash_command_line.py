"""How arguments reach a script."""

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands_config.errors import InvalidArguments
from errands_workers.kinds.command_line import LONGEST_WORD, command_line
from errands_workers.kinds.describe import Description


def described(*arguments: dict[str, Any], **more: Any) -> Description:
    return Description.model_validate({"slug": "s", "args": arguments, **more})


ALL = described(
    {"name": "plain", "mode": "positional"},
    {"name": "spaced", "mode": "dashdashspace"},
    {"name": "equal", "mode": "dashdashequal"},
    {"name": "input", "mode": "stdin"},
    {"name": "more", "mode": "stdin"},
    {"name": "VARIABLE", "mode": "env"},
)


def test_each_mode_puts_its_value_where_it_belongs_in_the_order_of_the_description():
    line = command_line(ALL, {"VARIABLE": "v", "equal": True, "more": "m", "spaced": 1.5, "plain": "p q", "input": "i"})
    assert line.words == ("run", "p q", "--spaced", "1.5", "--equal=true")
    assert line.stdin == b"i\nm\n"
    assert line.variables == {"VARIABLE": "v"}


def test_what_is_not_given_is_left_out():
    line = command_line(ALL, {})
    assert (line.words, line.stdin, line.variables) == (("run",), b"", {})


@pytest.mark.parametrize(
    ("mode", "words", "stdin", "variables"),
    [
        ("positional", ("run", "a", "b"), b"", {}),
        ("dashdashspace", ("run", "--X", "a", "--X", "b"), b"", {}),
        ("dashdashequal", ("run", "--X=a", "--X=b"), b"", {}),
        ("stdin", ("run",), b"a\nb\n", {}),
        ("env", ("run",), b"", {"X": "a\nb"}),
    ],
)
def test_several_values_repeat_the_option_or_become_lines(
    mode: str, words: tuple[str, ...], stdin: bytes, variables: dict[str, str]
):
    line = command_line(described({"name": "X", "mode": mode, "arity": "multiple"}), {"X": ["a", "b"]})
    assert (line.words, line.stdin, line.variables) == (words, stdin, variables)


def test_standard_input_ends_with_exactly_the_newline_that_is_there_already():
    assert command_line(ALL, {"input": "a\n"}).stdin == b"a\n"
    assert command_line(ALL, {"input": ""}).stdin == b"\n"


def test_a_positional_value_that_looks_like_an_option_is_refused_unless_allowed():
    argument = {"name": "plain", "mode": "positional"}
    with pytest.raises(InvalidArguments, match="plain: a value must not begin with -"):
        command_line(described(argument), {"plain": "--force"})
    assert command_line(described(argument, allowDash=True), {"plain": "-1"}).words == ("run", "-1")
    assert command_line(described({**argument, "allowDash": True}), {"plain": "-1"}).words == ("run", "-1")
    assert command_line(ALL, {"spaced": "--force"}).words == ("run", "--spaced", "--force")


@pytest.mark.parametrize("name", ["plain", "spaced", "equal", "VARIABLE"])
def test_a_value_that_is_too_long_for_a_word_is_refused_before_the_kernel_does(name: str):
    with pytest.raises(InvalidArguments, match=r"^invalid arguments: too large for this mode$"):
        command_line(ALL, {name: "é" * (LONGEST_WORD // 2)})


@pytest.mark.parametrize("name", ["plain", "VARIABLE"])
def test_what_no_word_can_hold_is_refused(name: str):
    with pytest.raises(InvalidArguments, match="NUL"):
        command_line(ALL, {name: "a\0b"})
    with pytest.raises(InvalidArguments, match="surrogate"):
        command_line(ALL, {name: "a\ud800"})


@given(st.dictionaries(st.sampled_from([argument.name for argument in ALL.args]), st.text(max_size=50)))
def test_whatever_is_accepted_can_be_handed_to_a_process(arguments: dict[str, str]):
    try:
        line = command_line(ALL, arguments)
    except InvalidArguments:
        return
    assert all("\0" not in word and len(word.encode()) < LONGEST_WORD for word in line.words)
    assert set(line.variables) == {"VARIABLE"} & set(arguments)
    assert line.stdin.endswith(b"\n") or not {"input", "more"} & set(arguments)


def test_words_arrive_as_they_are_without_a_shell():
    nasty = "$(touch x); `id` 'a' \"b\" \\ \n *"
    line = command_line(ALL, {"plain": nasty, "equal": nasty})
    echoed = subprocess.run(
        [sys.executable, "-c", "import json, sys; print(json.dumps(sys.argv[1:]))", *line.words],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert json.loads(echoed) == ["run", nasty, f"--equal={nasty}"]
