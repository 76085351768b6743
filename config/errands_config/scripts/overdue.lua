-- A call whose moment in `watch` has passed: one that nobody claimed in time ends; one whose worker beats is only asked to.
local c = record(K.call)
local score = redis.call('ZSCORE', K.watch, A.cid)
if not score or tonumber(score) > now then return {'early'} end
if not c or FINAL[c.state] then
  redis.call('ZREM', K.watch, A.cid)
  return {'final'}
end
if (c.worker or '') ~= A.worker_seen or (c.queue or '') ~= A.queue_seen then return {'moved'} end
if c.state == 'running' then
  redis.call('HSETNX', K.wishes, A.cid, 'deadline')
  redis.call('ZADD', K.watch, now + tonumber(A.again_ms), A.cid)
  return {'asked'}
end
local seconds = cjson.decode(c.policy).queue_timeout_seconds
local o = {state = 'timed_out', timeout_seconds = seconds, reason = 'no worker reached it'}
if A.offered ~= '1' then o = {state = 'failed', error = 'no worker offers this tool', error_kind = 'not offered'} end
end_call(c, o)
return {'ended', o.state}
