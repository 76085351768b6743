"""The tool of the agent `deployer`. Where a real one would deploy, this one writes a line into `deployments.log`."""

from pathlib import Path
from typing import Literal

from errands_workers import ToolContext, tool

JOURNAL = Path("deployments.log")


@tool(redact=("passphrase",))
def deploy(
    ctx: ToolContext,
    service: str,
    version: str,
    env: Literal["staging", "production"],
    passphrase: str = "",
    dry_run: bool = False,
) -> str:
    """Deploy a version of a service.

    Args:
        service: Name of the service.
        version: Which version, such as `2.4.1`.
        env: Where to.
        passphrase: Passphrase of the release, if it has one.
        dry_run: Only say what would be done.
    """
    if dry_run:
        return f"dry run: {service} {version} would go to {env}"
    with JOURNAL.open("a") as journal:
        journal.write(f"{service} {version} {env} {ctx.call_id}\n")
    return f"{service} {version} is live on {env}"
