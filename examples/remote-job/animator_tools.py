"""The tool of the agent `animator`: it starts a job at the render service and leaves its call to its callback."""

import json
import os
import urllib.request

from errands_workers import ToolContext, tool

SERVICE = os.environ.get("RENDER_SERVICE", "http://127.0.0.1:8701")
RECEIVER = os.environ.get("RENDER_RECEIVER", "http://127.0.0.1:8702")


@tool(rerun_on_restart=1)
def render(ctx: ToolContext, scene: str, frames: int = 240) -> str:
    """Render a scene. Takes minutes to hours.

    Args:
        scene: Name of the scene.
        frames: How many frames.
    """
    order = {"scene": scene, "frames": frames, "callback_url": f"{RECEIVER}/{ctx.call_id}"}
    job = start_job(ctx.idempotency_key, order)
    ctx.defer(f"the render service does job {job}", expires_seconds=86_400)


def start_job(key: str, order: dict[str, str | int]) -> str:
    """Start a job, or learn the number of the one that was started with this key before."""
    headers = {"Content-Type": "application/json", "Idempotency-Key": key}
    request = urllib.request.Request(f"{SERVICE}/jobs", json.dumps(order).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["job"]
