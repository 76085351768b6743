"""What a model sees of a function, and what it may send."""

import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from errands_config.errors import ConfigError, InvalidArguments
from errands_workers import ToolContext
from errands_workers.schema import schema_of


class Point(BaseModel):
    x: int
    y: int = 0


@dataclass
class Size:
    width: float


class Options(TypedDict, total=False):
    deep: bool


def everything(
    ctx: ToolContext,
    name: str,
    count: int = 3,
    *,
    kind: Literal["a", "b"] = "a",
    point: Point | None = None,
    sizes: list[Size] = [],  # noqa: B006 - pydantic copies it
    ratio: Annotated[float, Field(description="Its own words.", ge=0)] = 0.5,
    options: Options = {},  # noqa: B006
    json: Any = None,
) -> str:
    """Do everything.

    And a little more.

    Args:
        name: Who it is for.
        ratio: Not shown, since the hint says more.
    """
    return f"{ctx}{name}{count}{kind}{point}{sizes}{ratio}{options}{json}"


def test_the_schema_follows_from_hints_defaults_and_docstring():
    schema = schema_of(everything)
    assert schema.description == "Do everything.\n\nAnd a little more."
    assert schema.context == "ctx"
    assert json.loads(schema.parameters) == (
        {
            "$defs": {
                "Options": {
                    "additionalProperties": False,
                    "properties": {"deep": {"type": "boolean"}},
                    "title": "Options",
                    "type": "object",
                },
                "Point": {
                    "properties": {"x": {"type": "integer"}, "y": {"default": 0, "type": "integer"}},
                    "required": ["x"],
                    "title": "Point",
                    "type": "object",
                },
                "Size": {
                    "additionalProperties": False,
                    "properties": {"width": {"type": "number"}},
                    "required": ["width"],
                    "title": "Size",
                    "type": "object",
                },
            },
            "additionalProperties": False,
            "properties": {
                "name": {"description": "Who it is for.", "type": "string"},
                "count": {"default": 3, "type": "integer"},
                "kind": {"default": "a", "enum": ["a", "b"], "type": "string"},
                "point": {"anyOf": [{"$ref": "#/$defs/Point"}, {"type": "null"}], "default": None},
                "sizes": {"default": [], "items": {"$ref": "#/$defs/Size"}, "type": "array"},
                "ratio": {"default": 0.5, "description": "Its own words.", "minimum": 0, "type": "number"},
                "options": {"$ref": "#/$defs/Options", "default": {}},
                "json": {"default": None},
            },
            "required": ["name"],
            "type": "object",
        }
    )


def test_arguments_become_values_of_the_hinted_types_and_those_not_sent_are_left_to_the_function():
    read = schema_of(everything).read('{"name": "x", "point": {"x": 1}, "sizes": [{"width": 2}], "json": [1]}')
    assert read == {"name": "x", "point": Point(x=1), "sizes": [Size(2)], "json": [1]}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("{}", "invalid arguments: name: Field required"),
        ('{"name": 1}', "invalid arguments: name: Input should be a valid string"),
        ('{"name": "x", "count": "3"}', "invalid arguments: count: Input should be a valid integer"),
        ('{"name": "x", "count": 1.5}', "count"),
        ('{"name": "x", "ratio": -1}', "ratio: Input should be greater than or equal to 0"),
        ('{"name": "x", "kind": "c"}', "kind: Input should be 'a' or 'b'"),
        ('{"name": "x", "point": {"x": true}}', "point.x: Input should be a valid integer"),
        ('{"name": "x", "ctx": 1}', "ctx: Extra inputs are not permitted"),
        ("[]", "arguments: Input should be an object"),
        ("{", "arguments: Invalid JSON"),
    ],
)
def test_what_the_hints_refuse_is_told_with_its_place(arguments: str, text: str):
    with pytest.raises(InvalidArguments) as refused:
        schema_of(everything).read(arguments)
    assert text.removeprefix("invalid arguments: ") in str(refused.value)


def test_many_errors_are_told_up_to_ten():
    with pytest.raises(InvalidArguments, match=r"; and 5 more$"):
        schema_of(everything).read(json.dumps({"name": "x", **{f"wrong{n}": 1 for n in range(15)}}))


def numpy_style(a: int) -> int:
    """Do it.

    Parameters
    ----------
    a
        The number.
    """
    return a


def sphinx_style(a: int) -> int:
    """Do it.

    :param a: The number.
    """
    return a


def google_style(a: int) -> int:
    """Do it.

    Args:
        a (int): The number.

    Returns:
        The same.
    """
    return a


@pytest.mark.parametrize("function", [numpy_style, sphinx_style, google_style])
def test_the_three_common_docstring_styles_are_read(function: Any):
    schema = schema_of(function)
    assert schema.description == "Do it."
    assert json.loads(schema.parameters)["properties"]["a"]["description"] == "The number."


def test_a_function_without_parameters_takes_an_empty_object():
    def nothing() -> None: ...

    schema = schema_of(nothing)
    assert schema.parameters == '{"additionalProperties":false,"properties":{},"type":"object"}'
    assert schema.read("{}") == {}


def test_parameters_may_have_names_that_a_model_class_could_not():
    def odd(model_config: int, _hidden: int, copy: int) -> int:
        return model_config + _hidden + copy

    assert schema_of(odd).read('{"model_config": 1, "_hidden": 2, "copy": 3}') == {
        "model_config": 1, "_hidden": 2, "copy": 3,
    }  # fmt: skip


def _untyped(a) -> None: ...  # pyright: ignore


def _variadic(*a: int) -> None: ...


def _named(**a: int) -> None: ...


def _positional(a: int, /) -> None: ...


def _unknown(a: "Nowhere") -> None: ...  # pyright: ignore  # noqa: F821


class Unfit:
    pass


def _unfit_class(a: Unfit) -> None: ...


def _two_contexts(a: ToolContext, b: ToolContext) -> None: ...


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (_untyped, "parameter a needs a type hint"),
        (_variadic, "cannot be given by name"),
        (_named, "cannot be given by name"),
        (_positional, "cannot be given by name"),
        (_unknown, "type hints cannot be read"),
        (_unfit_class, "no schema can be made"),
        (_two_contexts, "more than one ToolContext"),
    ],
)
def test_a_signature_that_no_schema_can_say_is_refused_with_the_functions_name(function: Any, text: str):
    with pytest.raises(ConfigError, match=text) as refused:
        schema_of(function)
    assert function.__name__ in str(refused.value)


@given(
    st.fixed_dictionaries(
        {"a": st.integers(), "b": st.text(), "c": st.lists(st.floats(allow_nan=False, allow_infinity=False))},
        optional={"d": st.booleans() | st.none()},
    )
)
def test_whatever_fits_the_hints_arrives_unchanged(arguments: dict[str, Any]):
    def function(a: int, b: str, c: list[float], d: bool | None = None) -> None: ...

    assert schema_of(function).read(json.dumps(arguments)) == arguments
