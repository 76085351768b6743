-- What becomes of a call whose process is gone: it ends as it was asked to, or it is started again where that is safe,
-- or it is orphaned. One that lost its process too often ends with that cause, so that it harms no further worker.
local c = record(K.call)
if not c or c.state ~= 'running' or c.worker ~= A.worker then
  redis.call('HDEL', K.worker_calls, A.cid)
  redis.call('HDEL', K.wishes, A.cid)
  return {'no'}
end
if A.pid ~= '' and c.pid ~= A.pid then return {'no'} end
if c.wish == 'cancel' then
  return {'ended', 'cancelled', end_call(c, {state = 'cancelled', by = c.wish_by, reason = c.wish_reason, confirmed = A.confirmed})}
end
local policy = cjson.decode(c.policy)
if tonumber(c.deadline) <= now then
  return {'ended', 'timed_out', end_call(c, {state = 'timed_out', timeout_seconds = policy.timeout_seconds})}
end
local lost = redis.call('HINCRBY', K.call, 'lost', A.counts)
if lost >= tonumber(A.most_lost) then
  local error = 'given up after ' .. lost .. ' attempts: each time ' .. A.reason
  return {'ended', 'failed', end_call(c, {state = 'failed', error = error, error_kind = 'lost its process'})}
end
if tonumber(c.starts or '1') <= (policy.rerun_times or 0) then
  requeue(c, A.reason)
  return {'queued', 'queued'}
end
return {'ended', 'orphaned', end_call(c, {state = 'orphaned', reason = A.reason})}
