-- The states that are never left.
local FINAL = {completed = true, failed = true, denied = true, skipped = true, expired = true, timed_out = true,
               cancelled = true, orphaned = true}
