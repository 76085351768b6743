-- Gives one attempt of a queued call to a worker. A message is a permission for one attempt: every other copy is refused.
if not redis.call('ZSCORE', K.workers, A.worker) then return {'lapsed'} end
local c = record(K.call)
if not c then return {'unknown'} end
local again = c.state == 'running' and c.token == A.token
if not again and (c.state ~= 'queued' or c.attempt ~= A.attempt) then return {'refused', c.state, c.attempt} end
local policy = cjson.decode(c.policy)
local limit = policy.timeout_seconds * 1000
if not again and #LIMITS > 0 then
  local full, moment = blocked(policy.limits)
  if full then
    redis.call('ZREM', K.queued, A.cid)
    wait_for(full, moment, tonumber(c.queued_at) + policy.queue_timeout_seconds * 1000)
    return {'limited', full.name}
  end
  take_slots(policy.limits)
  count_start(policy.limits, c.attempt)
end
if not again then
  redis.call('HSET', K.call, 'state', 'running', 'token', A.token, 'worker', A.worker, 'pid', A.pid, 'started_at', now,
             'deadline', string.format('%.0f', now + limit), 'starts', tonumber(c.starts or '0') + 1)
  redis.call('ZREM', K.queued, A.cid)
  local upto = math.min(tonumber(A.published), now)
  if upto > tonumber(redis.call('HGET', K.marks, 'claimed_upto') or '0') then redis.call('HSET', K.marks, 'claimed_upto', upto) end
  redis.call('HSET', K.worker_calls, A.cid, A.pid)
  redis.call('ZADD', K.watch, within_sleep(now + limit + tonumber(A.slack_ms)), A.cid)
  redis.call('XADD', K.progress, 'MAXLEN', 50, '*', 'at', now, 'payload', '{"started":true}')
  event('tool_call.started', with(call_facts(A.cid, c), {'queued_ms', since(c.queued_at)}))
  c.deadline = now + limit
end
local more = redis.call('HMGET', K.call, 'arguments', 'approved')
return {'ok', c.session, c.conversation, c.agent or '', c.tool, c.provider_id, more[1], c.policy, c.attempt,
        string.format('%.0f', tonumber(c.deadline) - now), c.turn or '0', more[2] or ''}
