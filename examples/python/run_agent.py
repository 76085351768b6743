"""Run the agent on a question and print its answer: python run_agent.py "How many words has: to be or not to be?"

Store, worker and orchestrator are started where there are none. OPENAI_BASE_URL, OPENAI_API_KEY and ERRANDS_MODEL name
the model.
"""

import asyncio
import sys
from pathlib import Path

from errands_orchestrator import Client, RunPaused

AGENT = Path(__file__).parent / "agent.json"


async def main(question: str) -> int:
    async with Client() as client:
        try:
            print(await client.run(AGENT, question))
        except RunPaused as paused:  # the endpoint, its key or somebody stopped it; nothing is lost
            print(f"{paused}\nGo on with: errands session resume {paused.session}", file=sys.stderr)
            return 8
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(" ".join(sys.argv[1:]))))
