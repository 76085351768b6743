-- Lets go of a session. Refused while mail is unread (it is handed over) or its next timer has passed.
-- It stays on offer to who parked it: see wake.lua. Needs K.session K.mail K.due A.sid A.status A.moment A.lease A.offer
local function let_go(cursor)
  local mail = redis.call('XRANGE', K.mail, '(' .. cursor, '+')
  if #mail > 0 then
    redis.call('ZADD', K.due, now + tonumber(A.lease), A.sid)
    return {'mail', now, mail}
  end
  if A.moment ~= '' and tonumber(A.moment) <= now then return {'due', now} end
  redis.call('HSET', K.session, 'token', '', 'offer', A.offer, 'status', A.status, 'updated', now)
  if A.moment ~= '' then redis.call('ZADD', K.due, within_sleep(A.moment), A.sid) else redis.call('ZREM', K.due, A.sid) end
  return {'parked', now}
end
