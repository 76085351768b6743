"""The part `delivery` of the agent file: how late results reach the model."""

from __future__ import annotations

from string import Formatter
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field

from errands_config.agent_file.file_model import FileModel, Text
from errands_config.agent_file.finding import guess, one_of
from errands_config.agent_file.wording import refuse

WORDS = ("id", "name", "state", "handle")
"""What a heading may say of the call below it."""


def _heading(text: str) -> str:
    if not text.strip():
        refuse("must not be empty; leave it out for the usual heading")
    try:
        fields = list(Formatter().parse(text))
    except ValueError:
        refuse("a single { or } is no text here; write {{ or }}")
    for _, name, form, conversion in fields:
        if name is not None and name not in WORDS:
            refuse(f"unknown word {{{name}}}{guess(name, WORDS)}; {one_of(WORDS)} may stand in braces")
        if form or conversion:
            refuse(f"{{{name}}} takes no format")
    return text


Heading: TypeAlias = Annotated[Text, AfterValidator(_heading)]


class Templates(FileModel):
    """Headings of late results, by where a result comes. Results in a row whose heading is the same stand under one."""

    newest: Heading | None = None
    """Stands over a result when nothing but news of other calls came between its placeholder and it. A text, or its
    lines; `{id}`, `{name}` (the tool), `{state}` and `{handle}` (the id where there is none) are filled in, `{{` and
    `}}` are braces. Left out: the usual heading of the style, which has none for events."""
    buried: Heading | None = None
    """Stands over a result when a person has spoken or the model has made other calls in between. Otherwise like
    `newest`."""


class Delivery(FileModel):
    """How late results reach the model."""

    style: Literal["notice", "event"] = "notice"
    """`notice`: each result whole, under a heading that says when its placeholder was. `event`: what was said and what
    ended in the order in which it came, a result in one line; the model reads the rest when it wants it."""
    max_result_bytes: int = Field(default=65_536, ge=1)
    """Most of one result that the model gets at once; a longer one is cut and says so. A model with
    `get-tool-call-result` gets both its ends and reads the rest page by page. What is stored is not cut here."""
    max_items: int | None = Field(default=None, ge=1)
    """Most messages, results and mail together in one request; the rest follows in the next. Left out: all."""
    max_bytes: int | None = Field(default=None, ge=1)
    """Most text of them in one request, in bytes; the rest follows in the next. The first goes whatever its size. Left
    out: all."""
    templates: Templates = Templates()
    """The headings of late results."""
    compact_after_turns: int | None = Field(default=None, ge=1)
    """How many of the newest turns keep their results whole. As soon as there are twice as many, results before them
    become one line each. Left out: all stay whole."""
