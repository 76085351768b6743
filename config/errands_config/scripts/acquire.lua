-- Makes a process the owner of a session that is due (or named). Answers the same to the same token again.
-- A patient one leaves every session that has an owner alone, even one whose lease ran out while the store was away.
local owner = redis.call('HMGET', K.session, 'token', 'lease')
if not owner[1] then
  redis.call('ZREM', K.due, A.sid)
  return {'gone'}
end
if owner[1] ~= A.token then
  local score = tonumber(redis.call('ZSCORE', K.due, A.sid) or '')
  if owner[1] ~= '' and A.patient == '1' then return {'owned'} end
  if owner[1] ~= '' and score and score > now and score <= now + tonumber(owner[2]) then return {'owned'} end
  if A.named ~= '1' and (not score or still_to_come(score)) then return {'early'} end
  redis.call('HSET', K.session, 'token', A.token, 'offer', '', 'channel', A.channel, 'lease', A.lease, 'status', 'running', 'updated', now)
end
redis.call('ZADD', K.due, now + tonumber(A.lease), A.sid)
local head = redis.call('HMGET', K.session, unpack(HEAD))
return {'ok', now, head, redis.call('XRANGE', K.mail, '(' .. head[2], '+')}
