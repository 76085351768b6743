-- Puts new values of parameters in place of the old ones, if nobody else has changed those meanwhile.
if redis.call('EXISTS', K.session) == 0 then return 'unknown' end
local values = redis.call('HGET', K.session, 'parameters') or ''
if values == A.new then return 'ok' end
if values ~= A.old then return 'changed' end
redis.call('HSET', K.session, 'parameters', A.new)
return 'ok'
