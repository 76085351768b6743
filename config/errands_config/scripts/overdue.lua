-- A call whose moment in `watch` has passed: one that nobody claimed in time ends; one whose worker beats is only asked to.
local c = record(K.call)
local score = redis.call('ZSCORE', K.watch, A.cid)
if not score or still_to_come(tonumber(score)) then return {'early'} end
if not c or FINAL[c.state] then
  redis.call('ZREM', K.watch, A.cid)
  return {'final'}
end
local has_moved = (c.worker or '') ~= A.worker_seen or (c.queue or '') ~= A.queue_seen or (c.limits or '') ~= A.limits
if has_moved then return {'moved'} end

local policy = cjson.decode(c.policy)
-- Waiting for somebody outside: nobody came in time.
local function expire()
  local d = redis.call('HMGET', K.call, 'deferred_at', 'expires_ms', 'defer_kind')
  local since_then = math.min(tonumber(d[1]), now)
  if since_then < tonumber(d[1]) then redis.call('HSET', K.call, 'deferred_at', now) end
  local expires = since_then + tonumber(d[2])
  if expires > now then
    redis.call('ZADD', K.watch, within_sleep(expires), A.cid)
    return {'early'}
  end
  local o = {state = 'expired'}
  if d[3] == 'question' then
    o = {state = 'completed', result = '{"answered":false,"reason":"nobody answered in time"}', result_type = 'json'}
  end
  end_call(c, o)
  return {'ended', o.state}
end
if c.state == 'deferred' then return expire() end
-- In line for a shared limit: it has its turn, or waits on.
local function in_line(give_up)
  local full, moment = blocked(policy.limits)
  if full then
    wait_for(full, moment, give_up)
    return {'early'}
  end
  take_slots(policy.limits)
  redis.call('HSET', K.call, 'state', 'queued', 'published', '0')
  redis.call('HDEL', K.call, 'limit')
  redis.call('ZADD', K.queued, 0, A.cid)
  redis.call('SADD', K.queues, c.queue)
  redis.call('ZADD', K.watch, within_sleep(give_up), A.cid)
  ring()
  return {'granted'}
end
-- What lies further ahead than it can was written before the store's clock went back: the call gets its whole time again.
local function not_beyond(field, latest)
  if tonumber(c[field]) > latest then
    c[field] = string.format('%.0f', latest)
    redis.call('HSET', K.call, field, c[field])
  end
  return tonumber(c[field])
end
local moment
if c.state == 'running' then
  moment = not_beyond('deadline', now + policy.timeout_seconds * 1000) + tonumber(A.slack_ms)
else
  moment = not_beyond('queued_at', now) + policy.queue_timeout_seconds * 1000
end
if moment > now and c.limit then return in_line(moment) end
if moment > now then
  redis.call('ZADD', K.watch, within_sleep(moment), A.cid)
  return {'early'}
end

if c.state == 'running' then
  redis.call('HSETNX', K.wishes, A.cid, 'deadline')
  redis.call('ZADD', K.watch, now + tonumber(A.again_ms), A.cid)
  return {'asked'}
end
local why = c.limit and 'it waited for the shared limit ' .. c.limit or 'no worker reached it'
local o = {state = 'timed_out', timeout_seconds = policy.queue_timeout_seconds, reason = why}
if A.offered ~= '1' and not c.limit then o = {state = 'failed', error = 'no worker offers this tool', error_kind = 'not offered'} end
end_call(c, o)
return {'ended', o.state}
