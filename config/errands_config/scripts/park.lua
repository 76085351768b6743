-- Lets go of a session. Refused while mail is unread (it is handed over) or its next timer has passed.
local head = redis.call('HMGET', K.session, 'token', 'cursor')
if head[1] ~= A.token then return {'stale', now} end
local mail = redis.call('XRANGE', K.mail, '(' .. head[2], '+')
if #mail > 0 then
  redis.call('ZADD', K.due, now + tonumber(A.lease), A.sid)
  return {'mail', now, mail}
end
if A.moment ~= '' and tonumber(A.moment) <= now then return {'due', now} end
redis.call('HSET', K.session, 'token', '', 'channel', '', 'status', A.status, 'updated', now)
if A.moment ~= '' then redis.call('ZADD', K.due, within_sleep(A.moment), A.sid) else redis.call('ZREM', K.due, A.sid) end
return {'parked', now}
