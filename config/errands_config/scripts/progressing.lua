-- Tells those who watch that there is progress, at most five times a second a call: a flood must not push the ends out of
-- the streams. Needs events.lua and K.call A.cid A.payload
local PROGRESS_EVENTS_APART = 200
local function tell_progress(c)
  local last = tonumber(c.told_at or '0')
  if last <= now and now - last < PROGRESS_EVENTS_APART then return end
  redis.call('HSET', K.call, 'told_at', now)
  event('tool_call.progressed', with(call_facts(A.cid, c), {'payload_bytes', #A.payload}))
end
