-- Keeps every session in hand, however late: the token decides, not the clock.
-- KEYS after the named ones: session and mail key of each; ARGV after the named ones: sid and token of each.
local out = {}
for i = 1, tonumber(A.count) do
  local session, mail = KEYS[1 + 2 * i - 1], KEYS[1 + 2 * i]
  local sid, token = ARGV[2 + 2 * i - 1], ARGV[2 + 2 * i]
  local head = redis.call('HMGET', session, 'token', 'cursor')
  if head[1] ~= token then
    out[i] = 'lost'
  else
    redis.call('ZADD', K.due, now + tonumber(A.lease), sid)
    out[i] = #redis.call('XRANGE', mail, '(' .. head[2], '+', 'COUNT', 1) > 0 and 'mail' or 'ok'
  end
end
return out
