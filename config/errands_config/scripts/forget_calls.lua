-- Deletes records of calls that have ended and that the session, as it stands at this version, has told its model of.
-- Unread mail may be about any of them: a large result stands in the record alone.
-- KEYS after the named ones: record, progress and output of each call; ARGV after the named ones: their ids.
local head = redis.call('HMGET', K.session, 'version', 'cursor')
if head[1] ~= A.version then return {'moved', 0} end
if #redis.call('XRANGE', K.mail, '(' .. head[2], '+', 'COUNT', 1) > 0 then return {'moved', 0} end
local gone = 0
for i = 1, tonumber(A.count) do
  local at, cid = NAMED + 3 * i - 2, ARGV[2 + i]
  local state, provider_id = unpack(redis.call('HMGET', KEYS[at], 'state', 'provider_id'))
  if not state or FINAL[state] then
    if provider_id and redis.call('HGET', K.names, provider_id) == cid then redis.call('HDEL', K.names, provider_id) end
    redis.call('DEL', KEYS[at], KEYS[at + 1], KEYS[at + 2])
    redis.call('ZREM', K.calls, cid)
    gone = gone + 1
  end
end
return {'ok', gone}
