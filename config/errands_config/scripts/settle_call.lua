-- Ends a call whose process is gone: as it was asked to end, else as orphaned.
local c = record(K.call)
if not c or c.state ~= 'running' or c.worker ~= A.worker then
  redis.call('HDEL', K.worker_calls, A.cid)
  redis.call('HDEL', K.wishes, A.cid)
  return {'no'}
end
if A.pid ~= '' and c.pid ~= A.pid then return {'no'} end
local o = {state = 'orphaned', reason = A.reason}
if c.wish == 'cancel' then
  o = {state = 'cancelled', by = c.wish_by, reason = c.wish_reason, confirmed = A.confirmed}
elseif tonumber(c.deadline) <= now then
  o = {state = 'timed_out', timeout_seconds = cjson.decode(c.policy).timeout_seconds}
end
return {'ended', o.state, end_call(c, o)}
