-- Decides whether a queued call's message has to be published (again), and counts it as published now.
-- Never by age alone: a call published 2 s after it was claimed already, or its queue has been empty for 2 s.
local c = record(K.call)
if not c or c.state ~= 'queued' then
  redis.call('ZREM', K.queued, A.cid)
  return {'no'}
end
local score = tonumber(redis.call('ZSCORE', K.queued, A.cid) or '0')
local patience = tonumber(A.patience_ms)
if score > now then  -- published before the store's clock went back
  score = now
  redis.call('ZADD', K.queued, now, A.cid)
end
local marks = redis.call('HMGET', K.marks, 'claimed_upto', 'empty_since')
local claimed_upto, empty_since = tonumber(marks[1] or '0'), tonumber(marks[2] or '')
if claimed_upto > now then
  claimed_upto = now
  redis.call('HSET', K.marks, 'claimed_upto', now)
end
if redis.call('LLEN', K.list) > 0 then
  redis.call('HDEL', K.marks, 'empty_since')
  empty_since = nil
elseif not empty_since or empty_since > now then
  empty_since = now
  redis.call('HSET', K.marks, 'empty_since', now)
end
local overtaken = score + patience < claimed_upto
local dropped = A.elsewhere ~= '1' and empty_since and empty_since + patience <= now and score + patience <= now
if score ~= 0 and not overtaken and not dropped then return {'no'} end
redis.call('ZADD', K.queued, now, A.cid)
local count = redis.call('HINCRBY', K.call, 'published', 1)
return {'publish', now, count, c.attempt, c.session, c.tool, tostring(cjson.decode(c.policy).timeout_seconds),
        c.limits or ''}
