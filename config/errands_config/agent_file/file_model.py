"""What all models of the agent file share: immutable, strict, camelCase keys, errors in plain words."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Literal, Self, TypeAlias, TypeVar, cast, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    ModelWrapValidatorHandler,
    Strict,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic.alias_generators import to_camel, to_pascal
from pydantic_core import CoreSchema, core_schema

from errands_config.agent_file.finding import guess, one_of, shown
from errands_config.agent_file.wording import refuse, reworded


class FileModel(BaseModel):
    """A part of the agent file: unknown keys are refused, values are never converted."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        alias_generator=to_camel,
        use_attribute_docstrings=True,
    )

    @classmethod
    def keys(cls) -> tuple[str, ...]:
        """The keys as they stand in a file."""
        return tuple(field.alias or name for name, field in cls.model_fields.items())

    @model_validator(mode="wrap")
    @classmethod
    def _in_plain_words(cls, data: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(data)
        except ValidationError as invalid:
            raise reworded(invalid, cls.keys()) from None


class CapitalisedModel(FileModel):
    """A part whose keys are capitalised: what stands in the `contents` of a toolbox."""

    model_config = ConfigDict(alias_generator=to_pascal)


T = TypeVar("T")
Many: TypeAlias = Annotated[tuple[T, ...], Strict(False)]
"""A JSON list; strict pydantic would not read it as a tuple."""

LONGEST_SECONDS = 10 * 365 * 86_400
"""No duration of the file is longer: ten years, so that every moment can be told in milliseconds."""
Seconds: TypeAlias = Annotated[float, Field(ge=1, le=LONGEST_SECONDS)]
"""A duration of at least one second."""


def _printable(text: str) -> str:
    if "\0" in text:
        refuse("a text without NUL characters is expected")
    return text


NonEmpty: TypeAlias = Annotated[str, Field(min_length=1), AfterValidator(_printable)]

_LINES = TypeAdapter(list[str], config=ConfigDict(strict=True))


def _joined(value: object) -> object:
    return "\n".join(_LINES.validate_python(value)) if isinstance(value, list) else value


Text: TypeAlias = Annotated[str, BeforeValidator(_joined, json_schema_input_type=str | list[str])]
"""A string, or a list of lines."""


class ReadAs:
    """Marks a Literal for which older spellings are read too: `ReadAs(Synchronous="synchronous")`."""

    def __init__(self, **older: str) -> None:
        self.older = older

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Replace an older spelling before the word is checked; the JSON schema shows all of them."""
        return core_schema.no_info_before_validator_function(
            lambda value: self.older.get(value, value) if isinstance(value, str) else value,
            handler(source),
            json_schema_input_schema=core_schema.literal_schema([*get_args(source), *self.older]),
        )


class ByTag:
    """Marks a union whose objects say by `tag` which member they are.

    A member without `tag` is meant where none is given; a Literal gives words that may stand instead of an object. The
    member is chosen first, so that errors are about the one that was meant.
    """

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Validate by the chosen member; the JSON schema stays that of the union."""
        members = get_args(source)
        words = [word for member in members if get_origin(member) is Literal for word in get_args(member)]
        models = [cast("type[FileModel]", member) for member in members if get_origin(member) is None]

        def validated(value: object, _: object) -> object:
            if value in words:
                return value
            return _chosen(value, {_tag_of(model): model for model in models}, words).model_validate(value)

        return core_schema.no_info_wrap_validator_function(validated, handler(source))


def _tag_of(model: type[FileModel]) -> str | None:
    tag = model.model_fields.get("tag")
    return get_args(tag.annotation)[0] if tag else None


def _chosen(value: object, models: Mapping[str | None, type[FileModel]], words: Collection[str]) -> type[FileModel]:
    tags = [tag for tag in models if tag is not None]
    if not isinstance(value, dict):
        wanted = f"{one_of(words)}, or an object" if words else "an object"
        hint = guess(str(value), words)
        refuse(f'{wanted} with "tag" {one_of(tags)} is expected, got {shown(value)}{hint}')
    tag = cast("dict[str, object]", value).get("tag")
    chosen = models.get(tag) if tag is None or isinstance(tag, str) else None
    if chosen is None and "tag" not in value:
        refuse(f"required, but missing; {one_of(tags)}", "tag")
    if chosen is None:
        refuse(f"unknown tag {shown(tag)}{guess(str(tag), tags)}; {one_of(tags)}", "tag")
    return chosen
