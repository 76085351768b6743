"""What a tool author needs: `@tool`, the context of a running call, and a harness that runs a tool in a test."""

from errands_workers.context import ToolContext
from errands_workers.testing import ToolHarness
from errands_workers.tool import tool

__all__ = ["ToolContext", "ToolHarness", "tool"]
