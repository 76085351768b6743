-- Gives a session that was given to its last owner to whoever has time for it.
if redis.call('HGET', K.session, 'token') ~= A.token then return 'stale' end
redis.call('HSET', K.session, 'token', '', 'offer', '', 'updated', now)
redis.call('ZADD', K.due, now, A.sid)
redis.call('LPUSH', K.bell, A.sid)
redis.call('LTRIM', K.bell, 0, 63)
return 'ok'
