"""The page of the agent file: from its JSON schema, and from the table of what is not supported yet."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from docs.generate.markdown import anchor, code, codes, page, table, unwrapped
from docs.generate.schema_words import Schema, default_of, values_of
from pydantic import BaseModel

from errands_config.agent import Agent
from errands_config.agent_file.file_model import ReadAs
from errands_config.agent_file.not_yet import NOT_YET, Row
from errands_config.agent_schema import agent_schema

_INTRODUCTION = """
An agent is one JSON file. `errands agent check FILE` reads it as `errands run` does and names every mistake with the
path to its key; `errands agent schema` prints a JSON schema for your editor, in which `"$schema"` is allowed too.
Unknown keys are refused. A dot leads into an object, `[]` into each entry of a list. No duration may be longer than
ten years. The file may also stand in an envelope: `{"tag": "OpenAIAgentDescription", "contents": {…}}`.
"""
_PARTS = 'Parts that have a `tag`. In the file: `{"tag": "runAsync", "attachSeconds": 2}`.'
_LATER = """
These keys are read and checked. Any value but the one given here is refused, as not supported yet; nothing is ignored
silently.
"""


@dataclass(slots=True)
class _Found:
    """What a walk through the schema meets."""

    parts: Mapping[str, Schema]
    met: dict[str, str] = field(default_factory=dict[str, str])
    """Parts with a tag, by their names in the schema, and where each was met first."""

    def named(self, name: str) -> str:
        """A part by its tag, as a link to its section."""
        tag = self.tag_of(name)
        return f"[{code(tag)}]({anchor(tag)})" if tag else "any JSON" if name == "JsonValue" else "object"

    def tag_of(self, name: str) -> str:
        """Empty for a part without a tag."""
        return str(self.parts[name].get("properties", {}).get("tag", {}).get("const", ""))


def agent_file_page() -> str:
    """The page as Markdown text."""
    parts: Mapping[str, Schema] = json.loads(agent_schema())["$defs"]
    found = _Found(parts)
    whole = table(_HEAD, _rows(found, parts["Agent"]))
    sections = list(_sections(found))
    return page(
        "Agent file", _INTRODUCTION, "## Keys", whole, _older_words(),
        "## Tagged parts", _PARTS, *sections, "## Not supported yet", _LATER, _later(),
    )  # fmt: skip


_HEAD = ("key", "values", "default", "what it does")


def _rows(found: _Found, model: Schema, shown: str = "", place: str = "") -> Iterator[Sequence[str]]:
    """A row for each key that acts. `shown` leads from the page's section to the model, `place` from the file's top."""
    for key, written in model["properties"].items():
        path, shown_path = f"{place}{key}", f"{shown}{key}"
        if key in ("tag", "$schema") or _is_refused(path):
            continue
        schema = _supported(found, path, written)
        if inner := _inner(found, schema):
            yield from _rows(found, found.parts[inner], f"{shown_path}{_into(schema)}", f"{path}{_into(schema)}")
            continue
        default = default_of(schema, required=key in model.get("required", ()))
        yield code(shown_path), values_of(schema, found.named), default, _said(schema)
        for name in filter(found.tag_of, _named_in(schema)):
            found.met.setdefault(name, f"{path}{_into(schema)}")


def _into(schema: Schema) -> str:
    """How a path goes on into what stands there."""
    return "[]." if _is_list(schema) else "."


def _is_list(schema: Schema) -> bool:
    return schema.get("type") == "array" or any(_is_list(choice) for choice in schema.get("anyOf", ()))


def _said(schema: Schema) -> str:
    return unwrapped(str(schema.get("description", "")))


def _inner(found: _Found, schema: Schema) -> str:
    """The one part without a tag that stands here; empty if there is none."""
    names = _named_in(schema)
    if len(names) != 1 or found.tag_of(names[0]) or "properties" not in found.parts[names[0]]:
        return ""
    return names[0]


def _named_in(schema: Any) -> list[str]:
    match schema:
        case {"$ref": str(reference)}:
            return [reference.rpartition("/")[2]]
        case dict():
            return [name for key, value in schema.items() if key != "default" for name in _named_in(value)]
        case list():
            return [name for value in schema for name in _named_in(value)]
        case _:
            return []


def _sections(found: _Found) -> Iterator[str]:
    """A section for each tagged part, in the order in which they are met; one may lead to more."""
    done: set[str] = set()
    while waiting := [name for name in found.met if name not in done]:
        name = waiting[0]
        done.add(name)
        model, place = found.parts[name], found.met[name]
        yield f"### {code(found.tag_of(name))}\n\n{_said(model)} Stands in {code(place.rstrip('.'))}."
        yield table(_HEAD, _rows(found, model, place=place))


# ---- what acts and what does not -------------------------------------------------------------------------------


def _row_at(path: str) -> Row | None:
    """The row of the table for a place, written as the table writes places."""
    return next((row for row in NOT_YET if row.place == path.replace("[]", ".*")), None)


def _is_refused(path: str) -> bool:
    """Whether only one value is accepted there."""
    row = _row_at(path)
    return row is not None and len(row.acts) == 1


def _supported(found: _Found, path: str, schema: Schema) -> Schema:
    """The schema of a place without what is refused there, and without older spellings."""
    if _is_list(schema) and "items" in schema:
        return {**schema, "items": _supported(found, f"{path}[]", schema["items"])}
    words, tags = _row_at(path), _row_at(f"{path}.tag")
    if tags and "anyOf" in schema:
        return {**schema, "anyOf": [one for one in schema["anyOf"] if found.tag_of(_named_in(one)[0]) in tags.acts]}
    if "enum" in schema:
        older = _older(path)
        kept = [word for word in schema["enum"] if word not in older and (not words or word in words.acts)]
        return {**schema, "enum": kept}
    return schema


def _older(path: str) -> Mapping[str, str]:
    fields = {field.alias: field for field in _fields(Agent)}
    marks = fields[path].metadata if path in fields else ()
    return next((mark.older for mark in marks if isinstance(mark, ReadAs)), {})


def _fields(model: type[BaseModel]) -> Sequence[Any]:
    return list(model.model_fields.values())


def _older_words() -> str:
    """Spellings that other systems' files have."""
    read = [
        f"{codes(older)} of `{field.alias}` as {codes(dict.fromkeys(older.values()))}"
        for field in _fields(Agent)
        if (older := _older(str(field.alias)))
    ]
    return f"Spellings of older files are read too: {'; '.join(read)}."


def _later() -> str:
    return table(("key", "accepted", "what is to come"), map(_later_row, NOT_YET))


def _later_row(row: Row) -> Sequence[str]:
    accepted = " or ".join("left out" if value is None else code(json.dumps(value)) for value in row.acts)
    return code(row.place.replace(".*", "[]")), accepted, row.brings
