"""What an executable says about itself: `TOOL describe`, read into a value."""

from __future__ import annotations

import json
import os
import re
import selectors
import signal
import stat
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from errands_config.errors import ConfigError
from errands_config.text import clean, decode, short
from errands_workers.processes import send_to_group

DESCRIBE_SECONDS = 5.0
_MOST_BYTES = 1_048_576

JsonType: TypeAlias = Literal["string", "number", "integer", "boolean"]
Mode: TypeAlias = Literal["positional", "dashdashspace", "dashdashequal", "stdin", "env"]
_JSON_TYPES: dict[str, JsonType] = {name: name for name in get_args(JsonType)}
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")


def _cleaned(value: object) -> object:
    return clean(value).text.strip() if isinstance(value, str) else value


Words: TypeAlias = Annotated[str, BeforeValidator(_cleaned)]
"""Text for the model; it passed the gate."""


class _Described(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


class ScriptArgument(_Described):
    """One argument, and how its value reaches the script."""

    name: str = Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$")
    description: Words = ""
    type: Words = "string"
    backing_type: JsonType | None = None
    arity: Literal["single", "optional", "multiple"] | None = None
    required: bool | None = None
    mode: Mode = "dashdashspace"
    allow_dash: bool = Field(default=False, alias="allowDash")

    @property
    def json_type(self) -> JsonType:
        """The type of one value in the schema."""
        return self.backing_type or _JSON_TYPES.get(self.type, "string")

    @property
    def is_multiple(self) -> bool:
        """Whether it takes a list."""
        return self.arity == "multiple"

    @property
    def is_required(self) -> bool:
        """Whether a call must give it; a list need not be given unless the script says so."""
        if self.arity is None:
            return self.required is not False
        return self.arity == "single" or (self.is_multiple and self.required is True)


class EmptyResult(_Described):
    """What to say when the script prints nothing."""

    tag: Literal["DoNothing", "AddMessage"] = "DoNothing"
    contents: Words = ""


class Description(_Described):
    """The answer to `describe`."""

    slug: str = Field(min_length=1)
    description: Words = ""
    args: tuple[ScriptArgument, ...] = ()
    empty_result: EmptyResult = Field(default=EmptyResult(), alias="empty-result")
    allow_dash: bool = Field(default=False, alias="allowDash")

    @property
    def tool_name(self) -> str:
        """`bash_<slug>`, with `_` for what a tool's name must not have."""
        return f"bash_{_NOT_IN_NAMES.sub('_', self.slug)}"[:64]

    @property
    def when_empty(self) -> str:
        """The result of a script that printed nothing."""
        return self.empty_result.contents if self.empty_result.tag == "AddMessage" else "(no output)"


def flaw_of(path: Path) -> str | None:
    """Why a file may not be run; None for a regular executable of ours or of root that not everybody may change."""
    try:
        status = path.stat()
    except OSError as gone:
        return gone.strerror or "it cannot be looked at"
    if not stat.S_ISREG(status.st_mode) or not os.access(path, os.X_OK):
        return "not a regular executable; `chmod +x` it"
    if status.st_uid not in (os.getuid(), 0):
        return "it belongs to another user; a worker runs only its own user's and root's files"
    if status.st_mode & stat.S_IWOTH:
        return "everybody may write to it; `chmod o-w` it"
    return None


def describe(path: Path, environment: Mapping[str, str], cwd: Path | None = None) -> Description:
    """Ask an executable what it is. ConfigError if it may not be run, or does not answer as it should within 5 s."""
    if flaw := flaw_of(path):
        raise ConfigError(f"{path}: {flaw}")
    answer = _ask(path, environment, cwd)
    try:
        read = Description.model_validate(json.loads(answer))
    except ValidationError as invalid:
        error = invalid.errors(include_url=False, include_input=False)[0]
        raise ConfigError(f"{path}: describe: {'.'.join(map(str, error['loc']))}: {error['msg']}") from None
    except (ValueError, RecursionError):
        raise ConfigError(f"{path}: describe answered no JSON: {short(decode(answer[:2000]).text)!r}") from None
    _check_names(path, read)
    return read


def _ask(path: Path, environment: Mapping[str, str], cwd: Path | None) -> bytes:
    try:
        process = subprocess.Popen(
            [str(path), "describe"], env=dict(environment), cwd=cwd, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except OSError as unable:
        raise ConfigError(f"{path}: cannot be run: {unable.strerror}; is its first line right?") from None
    with process:
        try:
            answer = _answer(process, time.monotonic() + DESCRIBE_SECONDS)
        except subprocess.TimeoutExpired:
            raise ConfigError(f"{path}: describe did not answer within {DESCRIBE_SECONDS:g} s") from None
        finally:
            send_to_group(process.pid, signal.SIGKILL)
    if len(answer) > _MOST_BYTES:
        raise ConfigError(f"{path}: describe answered more than {_MOST_BYTES} bytes")
    if process.returncode:
        raise ConfigError(f"{path}: describe ended with exit code {process.returncode}")
    return answer


def _answer(process: subprocess.Popen[bytes], until: float) -> bytes:
    """What it prints until it ends, or a little more than may be; subprocess.TimeoutExpired if it goes on."""
    assert process.stdout
    answer = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while len(answer) <= _MOST_BYTES:
            if not selector.select(max(0.0, until - time.monotonic())):
                raise subprocess.TimeoutExpired(process.args, DESCRIBE_SECONDS)
            if not (data := os.read(process.stdout.fileno(), _MOST_BYTES)):
                process.wait(max(0.0, until - time.monotonic()))
                break
            answer += data
    return bytes(answer)


def _check_names(path: Path, read: Description) -> None:
    names = [argument.name for argument in read.args]
    for argument in read.args:
        if names.count(argument.name) > 1:
            raise ConfigError(f"{path}: describe names the argument {argument.name} twice")
        if argument.mode == "env" and not _ENV_NAME.fullmatch(argument.name):
            raise ConfigError(f"{path}: describe: {argument.name} cannot be the name of an environment variable")


def schema_of(description: Description) -> dict[str, Any]:
    """The JSON schema of the arguments."""
    return {
        "type": "object",
        "properties": {argument.name: _property(argument) for argument in description.args},
        "required": [argument.name for argument in description.args if argument.is_required],
        "additionalProperties": False,
    }


def _property(argument: ScriptArgument) -> dict[str, Any]:
    one: dict[str, Any] = {"type": argument.json_type}
    schema: dict[str, Any] = {"type": "array", "items": one} if argument.is_multiple else one
    if argument.description:
        schema = {**schema, "description": argument.description}
    return schema
