"""The JSON schema of the agent file, for editors and for checks elsewhere."""

from __future__ import annotations

import json

from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from errands_config.agent import Agent, Envelope

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class _WithoutFieldTitles(GenerateJsonSchema):
    def field_title_should_be_set(self, schema: object) -> bool:
        return False


def agent_schema() -> str:
    """The schema (draft 2020-12) as indented JSON text: an agent, bare or in its envelope.

    It shows the whole format, also what this version refuses as not supported yet. Checks across parts (a known
    `apiKeyId`, a repeated key) are made at loading only.
    """
    _, schema = models_json_schema(
        [(Agent, "validation"), (Envelope, "validation")], schema_generator=_WithoutFieldTitles
    )
    parts = schema["$defs"]
    parts["Envelope"]["properties"]["contents"] = {"$ref": "#/$defs/Agent"}
    for name in ("Agent", "Envelope"):
        parts[name]["properties"]["$schema"] = {"type": "string"}
    whole = {
        "$schema": DIALECT,
        "title": "Errands agent file",
        "anyOf": [{"$ref": "#/$defs/Agent"}, {"$ref": "#/$defs/Envelope"}],
    }
    return json.dumps({**whole, "$defs": parts}, indent=2)
