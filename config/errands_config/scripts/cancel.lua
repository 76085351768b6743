-- Asks for the end of a call. What nobody runs ends at once; a running call gets a wish that its worker is told of.
-- The wish keeps its asker, so that the same question again has the same answer.
local c = record(K.call)
if not c then return {'unknown'} end
local has_moved = (c.worker or '') ~= A.worker_seen or (c.queue or '') ~= A.queue_seen or (c.limits or '') ~= A.limits
if has_moved then return {'moved'} end
if FINAL[c.state] then
  if c.wish_asker ~= A.asker then return {'final', c.state, c.state} end
  return {c.state == 'cancelled' and 'cancelled' or 'final', c.wish_before, c.state}
end
local before = c.wish_before or c.state
if not c.wish then
  redis.call('HSET', K.call, 'wish', 'cancel', 'wish_by', A.by, 'wish_reason', A.reason, 'wish_asker', A.asker,
             'wish_before', c.state, 'wish_at', now)
end
if c.state == 'running' then
  redis.call('HSETNX', K.wishes, A.cid, 'cancel')
  return {'asked', before, c.state, c.worker, c.pid}
end
end_call(c, {state = 'cancelled', by = A.by, reason = A.reason})
return {'cancelled', before, 'cancelled'}
