"""The outside worker: does what `order_part` asks for, whichever session asks. It may be killed at any moment.

python complete_calls.py            # until Ctrl-C
python complete_calls.py --once     # what waits now
"""

import asyncio
import sys
import uuid

from errands_config.errors import Conflict
from errands_orchestrator import Client, PendingCall

PARTS = {"bolt", "nut", "washer"}
LOOK_SECONDS = 1.0


def placed(call: str) -> str:
    """The number of an order. The call's id is its key: the same call again is the same order, not a second one."""
    return f"A-{uuid.uuid5(uuid.NAMESPACE_OID, call).hex[:8]}"


async def work(client: Client, waiting: PendingCall) -> None:
    """Do one call. To do it twice does no harm, so it may be done and not be told."""
    part = waiting.arguments["part"]
    try:
        if part in PARTS:
            order = {"order": placed(waiting.call.id), **waiting.arguments}
            done = await client.complete(waiting.token, order)
        else:
            done = await client.fail(waiting.token, f"no such part: {part}")
        print(f"{done.outcome}: {waiting.arguments['pieces']} x {part}", flush=True)
    except Conflict as ended:  # it was cancelled, has expired, or somebody gave another answer
        print(f"too late for {part}: {ended}", flush=True)


async def main(*, once: bool) -> None:
    async with Client() as client:
        while True:
            for waiting in await client.pending():
                if waiting.call.tool == "order_part":
                    await work(client, waiting)
            if once:
                return
            await asyncio.sleep(LOOK_SECONDS)


if __name__ == "__main__":
    asyncio.run(main(once="--once" in sys.argv))
