"""`errands schema`: the form of what a command prints with --json."""

from __future__ import annotations

import orjson

from errands_orchestrator.cli.exit_codes import UsageError
from errands_orchestrator.cli.output import print_text


def schema(*command: str) -> None:
    """Print the JSON schema of what a command prints with --json, such as `errands schema calls ls`.

    Without a command: the names of all that have one.
    """
    from errands_orchestrator.cli.json_forms import FORMS  # imported here: it builds many types

    name = " ".join(command)
    if not name:
        print_text("\n".join(FORMS))
        return
    form = FORMS.get(name)
    if form is None:
        raise UsageError(f"no command {name!r} prints JSON; `errands schema` lists those that do")
    described = form.adapter.json_schema() | ({"description": "One such document a line."} if form.lines else {})
    print_text(orjson.dumps(described, option=orjson.OPT_INDENT_2).decode())
