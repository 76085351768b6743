-- Reads what decides about a call, without its arguments and result, which may be large; nil if there is no record.
local NAMES = {'session', 'conversation', 'agent', 'tool', 'provider_id', 'queue', 'turn', 'state', 'attempt', 'token', 'worker', 'pid',
               'policy', 'deadline', 'queued_at', 'started_at', 'wish', 'wish_by', 'wish_reason', 'wish_asker', 'wish_before',
               'notified', 'notify_mark', 'progress_mark', 'told_at', 'ended_with', 'end_seq', 'starts', 'limit', 'limits', 'label'}
local function record(key)
  local values = redis.call('HMGET', key, unpack(NAMES))
  if not values[1] then return nil end
  local c = {}
  for i, name in ipairs(NAMES) do c[name] = values[i] or nil end
  return c
end
