"""What a Python function takes as a tool: its JSON schema, from type hints and docstring, and the check against it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

import docstring_parser
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema

from errands_config.errors import ConfigError, InvalidArguments
from errands_workers.context import ToolContext

_PLAIN = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_MOST_ERRORS_TOLD = 10


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A function as a model sees it. Made by `schema_of`."""

    description: str
    parameters: str
    """JSON schema of the arguments object, as compact JSON."""
    context: str | None
    """Name of the parameter that takes the ToolContext."""
    _model: type[BaseModel]
    _names: tuple[str, ...]
    """The parameters in order; the model's field of the n-th one is `p<n>`."""

    def read(self, arguments: str) -> dict[str, Any]:
        """The keyword arguments in a JSON text. InvalidArguments says what the schema wants instead."""
        try:
            read = self._model.model_validate_json(arguments, strict=True)
        except ValidationError as invalid:
            raise InvalidArguments(f"invalid arguments: {_said(invalid)}") from None
        return {name: getattr(read, f"p{n}") for n, name in enumerate(self._names) if f"p{n}" in read.model_fields_set}


def schema_of(function: Callable[..., Any]) -> ToolSchema:
    """Infer a tool's schema. ConfigError if a parameter cannot be given by name as JSON, or has no type hint."""
    where = f"tool {function.__module__}.{function.__qualname__}"
    hints = _hints(function, where)
    plain = list(_plain_parameters(function, where))
    contexts = [parameter.name for parameter in plain if hints.get(parameter.name) is ToolContext]
    if len(contexts) > 1:
        raise ConfigError(f"{where}: takes more than one ToolContext")
    given = [parameter for parameter in plain if parameter.name not in contexts]
    text = docstring_parser.parse(inspect.getdoc(function) or "")
    told = {entry.arg_name: entry.description or "" for entry in text.params}
    model = _model(where, {parameter.name: _field(parameter, hints, told, where) for parameter in given})
    return ToolSchema(
        description=(text.description or "").strip(),
        parameters=_parameters(model, where),
        context=contexts[0] if contexts else None,
        _model=model,
        _names=tuple(parameter.name for parameter in given),
    )


def _hints(function: Callable[..., Any], where: str) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except (NameError, TypeError, SyntaxError, AttributeError) as unknown:
        raise ConfigError(f"{where}: its type hints cannot be read: {unknown}; import what they name") from None


def _plain_parameters(function: Callable[..., Any], where: str) -> Iterator[inspect.Parameter]:
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in _PLAIN:
            raise ConfigError(f"{where}: parameter {parameter} cannot be given by name; use a plain one")
        yield parameter


def _field(
    parameter: inspect.Parameter, hints: Mapping[str, Any], told: Mapping[str, str], where: str
) -> tuple[Any, FieldInfo]:
    if parameter.name not in hints:
        raise ConfigError(f"{where}: parameter {parameter.name} needs a type hint, from which its schema is made")
    default = ... if parameter.default is inspect.Parameter.empty else parameter.default
    hint = hints[parameter.name]
    if description := told.get(parameter.name):
        hint = Annotated[Any, Field(description=description)] if hint is Any else _described(hint, description)
    return hint, Field(default, alias=parameter.name)


def _described(hint: Any, description: str) -> Any:
    """The hint with the docstring's words, unless it brings its own."""
    own = [extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, FieldInfo) and extra.description]
    return hint if own else Annotated[hint, Field(description=description)]


def _model(where: str, fields: Mapping[str, tuple[Any, FieldInfo]]) -> type[BaseModel]:
    """A model whose fields have names of our own: a parameter may be called `json`, `_x` or `model_config`."""
    numbered: dict[str, Any] = {f"p{n}": field for n, field in enumerate(fields.values())}
    try:
        return create_model("Arguments", __config__=ConfigDict(extra="forbid", strict=True), **numbered)
    except (PydanticUserError, TypeError) as unfit:
        raise ConfigError(f"{where}: no schema can be made from its type hints: {_first_line(unfit)}") from None


class _Terse(GenerateJsonSchema):
    """A schema without the titles that pydantic makes up: a model reads every byte of it."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _parameters(model: type[BaseModel], where: str) -> str:
    try:
        schema = model.model_json_schema(schema_generator=_Terse)
    except PydanticUserError as unfit:
        raise ConfigError(f"{where}: no schema can be made from its type hints: {_first_line(unfit)}") from None
    schema.pop("title", None)
    schema.setdefault("properties", {})
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _said(invalid: ValidationError) -> str:
    errors = invalid.errors(include_url=False, include_input=False, include_context=False)
    lines = [f"{'.'.join(map(str, error['loc'])) or 'arguments'}: {error['msg']}" for error in errors]
    more = len(lines) - _MOST_ERRORS_TOLD
    return "; ".join(lines[:_MOST_ERRORS_TOLD]) + (f"; and {more} more" if more > 0 else "")
