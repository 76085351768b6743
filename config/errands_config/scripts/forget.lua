-- Deletes a session that nobody touched for long and that has no calls left. The same again changes nothing.
local head = redis.call('HMGET', K.session, 'token', 'version', 'updated', 'cursor')
if not head[2] then
  redis.call('ZREM', K.sessions, A.sid)
  redis.call('ZREM', K.due, A.sid)
  return 'gone'
end
if head[1] ~= '' or head[2] ~= A.version or tonumber(head[3]) > now - tonumber(A.untouched_ms) then return 'moved' end
if redis.call('ZCARD', K.calls) > 0 or #redis.call('XRANGE', K.mail, '(' .. head[4], '+', 'COUNT', 1) > 0 then return 'moved' end
redis.call('DEL', K.session, K.log, K.mail, K.events, K.calls, K.names, K.handles, K.idempotency)
redis.call('ZREM', K.sessions, A.sid)
redis.call('ZREM', K.due, A.sid)
return 'forgotten'
