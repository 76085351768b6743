"""What a type checker must refuse in an application: every line that is marked is an error of just that kind.

pyright reports a mark where there is no error, so a line that begins to type-check is found, too.
"""

import errands_orchestrator
from errands_orchestrator import Client, Event, Run


async def mistakes(client: Client, event: Event, run: Run) -> None:
    """One mistake a line."""
    _ = errands_orchestrator.Stepper  # pyright: ignore[reportAttributeAccessIssue]
    await client.run(7, "hello")  # pyright: ignore[reportArgumentType]
    await client.run("agent.json")  # pyright: ignore[reportCallIssue]
    await client.send("s", "hello", True)  # pyright: ignore[reportCallIssue]
    await client.send("s", "hello", urgent=True)  # pyright: ignore[reportCallIssue]
    await client.call_tool("count", {"text": object()})  # pyright: ignore[reportArgumentType]
    await client.events("s")  # pyright: ignore[reportGeneralTypeIssues]
    await client.complete("c")  # pyright: ignore[reportCallIssue]
    await client.complete("c", object())  # pyright: ignore[reportArgumentType]
    await client.approve("c", '{"env": "test"}')  # pyright: ignore[reportArgumentType]
    await client.defer("c")  # pyright: ignore[reportAttributeAccessIssue]
    Client("redis://localhost")  # pyright: ignore[reportArgumentType]
    event.kind = "run.ended"  # pyright: ignore[reportAttributeAccessIssue]
    if event.kind == "run.finished":  # pyright: ignore[reportUnnecessaryComparison]
        pass
    if run.status == "failed":  # pyright: ignore[reportUnnecessaryComparison]
        pass
