"""The page of the settings: from `errands_config.settings`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from docs.generate.markdown import code, page, table
from docs.generate.schema_words import default_of, values_of

from errands_config.settings import PREFIX, Settings

_INTRODUCTION = f"""
Settings are environment variables that begin with `{PREFIX}`. Every process reads them once, when it starts. An
unknown one, or one with a bad value, is refused with its name; an empty one counts as unset. `errands doctor` shows
what holds.
"""
_ENDPOINT = """
Where neither the agent file nor a setting names an endpoint or a key, `OPENAI_BASE_URL` and `OPENAI_API_KEY` hold, as
the `openai` package reads them. Only processes that ask the model need them: never give them to a worker.
"""


def settings_page() -> str:
    """The page as Markdown text."""
    return page("Settings", _INTRODUCTION, table(("variable", "values", "default", "what it does"), _rows()), _ENDPOINT)


def _rows() -> Iterator[Sequence[str]]:
    for name, schema in Settings.model_json_schema()["properties"].items():
        values = values_of(schema, lambda _: "object")
        yield code(PREFIX + name.upper()), values, default_of(schema, required=False), schema["description"]
