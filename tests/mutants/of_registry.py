"""Breakages of how calls are named, related and compared."""

from __future__ import annotations

from tests.mutants.breakage import ORCHESTRATOR, SCRIPTS, Breakage

MACHINE = "tests/unit/test_registry_machine.py"
LOOP = "tests/integration/test_loop_registry.py"
DEPENDENCIES = "tests/integration/test_loop_dependencies.py"
RELATIONS = "tests/integration/test_loop_relations.py"
COMMIT = "tests/integration/test_scripts_commit_waiting.py"

OF_REGISTRY: tuple[Breakage, ...] = (
    Breakage(
        "start a call before those that it waits for",
        f"{ORCHESTRATOR}/dependencies.py",
        "return all(it.done for it in call.depends)",
        "return True",
        (MACHINE,),
    ),
    Breakage(
        "leave a call waiting for one that failed",
        f"{ORCHESTRATOR}/late.py",
        "ends = skipped | _followers(draft.session)",
        "ends = _followers(draft.session)",
        (MACHINE,),
    ),
    Breakage(
        "leave a call waiting that stands for one which has ended",
        f"{ORCHESTRATOR}/late.py",
        "ends = skipped | _followers(draft.session)",
        "ends = skipped",
        (MACHINE,),
    ),
    Breakage(
        "forget the end of a call in its record",
        f"{ORCHESTRATOR}/late.py",
        "draft.ends.append(Ended(cid, outcome, call.same_as))",
        "pass",
        (MACHINE,),
    ),
    Breakage(
        "run what depends on a call that failed in an earlier turn",
        f"{ORCHESTRATOR}/judging.py",
        "ends = {**ends, **_hopeless(wanted, earlier)}",
        "ends = {**ends}",
        (MACHINE,),
    ),
    Breakage(
        "take a call that waits for this one for its equal in flight",
        f"{ORCHESTRATOR}/judging.py",
        "left_out = replaced | waiters.of(call.id)",
        "left_out = replaced",
        (RELATIONS,),
    ),
    Breakage(
        "have a handle that is refused name the call that wanted it",
        f"{ORCHESTRATOR}/dependencies.py",
        "if call.ours.handle and call.end is None",
        "if call.ours.handle",
        (RELATIONS,),
    ),
    Breakage(
        "hand back a stopped turn before those who wait for it know its ends",
        f"{ORCHESTRATOR}/control.py",
        "        follow(draft)",
        "        pass",
        (RELATIONS,),
    ),
    Breakage(
        "refer to what stands for a result instead of to the result",
        f"{ORCHESTRATOR}/looking_up.py",
        "while row and row.same_as:",
        "while False:",
        (RELATIONS,),
    ),
    Breakage(
        "bind a handle twice",
        f"{ORCHESTRATOR}/judging.py",
        "or _taken(call, handles.get(call.ours.handle))",
        "",
        (LOOP,),
    ),
    Breakage(
        "take a repeated key for a new one",
        f"{ORCHESTRATOR}/judging.py",
        "_repeats(call, first) or ",
        "",
        (LOOP,),
    ),
    Breakage(
        "forget a key when the step is over",
        f"{SCRIPTS}/commit.lua",
        "if r.bound then redis.call('HSET', K.idempotency, r.bound[1], r.id .. ' ' .. r.bound[2]) end",
        "",
        (COMMIT,),
    ),
    Breakage(
        "settle a call that was cancelled meanwhile",
        f"{SCRIPTS}/commit.lua",
        "elseif is_waiting(r.key) then write_again(r)",
        "elseif true then write_again(r)",
        (COMMIT,),
    ),
    Breakage(
        "end a call that was cancelled meanwhile",
        f"{SCRIPTS}/commit.lua",
        "if not c or c.state ~= 'waiting' then return end\n  local fields",
        "if not c then return end\n  local fields",
        (COMMIT,),
    ),
    Breakage(
        "look for wrappers before the references are filled in",
        f"{ORCHESTRATOR}/late.py",
        "record = replace(record_of(draft.brief, made, call.turn), again=True)",
        "record = replace(record_of(draft.brief, replace(made, value={}), call.turn), again=True)",
        (DEPENDENCIES,),
    ),
    Breakage(
        "take honest data for a reference",
        f"{ORCHESTRATOR}/references.py",
        "or not value.keys() <= {RESULT, PATH}",
        "",
        (DEPENDENCIES,),
    ),
    Breakage(
        "tell calls apart by the order of their keys",
        f"{ORCHESTRATOR}/likeness.py",
        "sort_keys=True",
        "sort_keys=False",
        (LOOP,),
    ),
    Breakage(
        "let a call wait in a circle",
        f"{ORCHESTRATOR}/dependencies.py",
        "return depends, ends | _circles(made, depends)",
        "return depends, ends",
        (DEPENDENCIES,),
    ),
)
