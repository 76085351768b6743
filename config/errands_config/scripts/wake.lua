-- Makes somebody look at a session. A live owner hears it on its channel. One that is parked is given to who parked it, if
-- that still listens, with its head and mail; else it falls due, never later than it was.
-- Needs head.lua and K.session K.mail K.due K.bell A.sid
local MOST_GIVEN = 8
local function give(owner)
  local head = redis.call('HMGET', K.session, unpack(HEAD))
  local mail = redis.call('XRANGE', K.mail, '(' .. head[2], '+', 'COUNT', MOST_GIVEN + 1)
  if #mail > MOST_GIVEN then return false end
  local gift = cjson.encode({A.sid, owner[4], now, head, mail})
  if redis.call('PUBLISH', owner[2], gift) == 0 then return false end
  redis.call('HSET', K.session, 'token', owner[4], 'offer', '', 'status', 'running', 'updated', now)
  redis.call('ZADD', K.due, now + tonumber(owner[3]), A.sid)
  return true
end
local function wake()
  local owner = redis.call('HMGET', K.session, 'token', 'channel', 'lease', 'offer')
  local score = tonumber(redis.call('ZSCORE', K.due, A.sid) or '')
  local is_ahead = not score or score > now
  if owner[1] and owner[1] ~= '' and score and is_ahead and score <= now + tonumber(owner[3]) then
    redis.call('PUBLISH', owner[2], A.sid)
    return
  end
  if owner[1] == '' and (owner[4] or '') ~= '' and is_ahead and give(owner) then return end
  if is_ahead then redis.call('ZADD', K.due, now, A.sid) end
  redis.call('LPUSH', K.bell, A.sid)
  redis.call('LTRIM', K.bell, 0, 63)
end
