-- Makes somebody look at a session. A live owner hears it on its channel; else the session falls due, never later than it was.
-- Needs K.session K.due K.bell A.sid
local function wake()
  local owner = redis.call('HMGET', K.session, 'token', 'channel', 'lease')
  local score = tonumber(redis.call('ZSCORE', K.due, A.sid) or '')
  local owned = owner[1] and owner[1] ~= '' and score and score > now and score <= now + tonumber(owner[3])
  if owned then
    redis.call('PUBLISH', owner[2], A.sid)
    return
  end
  if not score or score > now then redis.call('ZADD', K.due, now, A.sid) end
  redis.call('LPUSH', K.bell, A.sid)
  redis.call('LTRIM', K.bell, 0, 63)
end
