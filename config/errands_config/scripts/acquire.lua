-- Makes a process the owner of a session that is due (or named). Answers the same to the same token again.
-- A patient one leaves every session that has an owner alone, even one whose lease ran out while the store was away.
local head = redis.call('HMGET', K.session, 'token', 'lease', 'version', 'cursor', 'snapshot', 'agent', 'tools', 'slug', 'root', 'entries')
if not head[3] then
  redis.call('ZREM', K.due, A.sid)
  return {'gone'}
end
if head[1] ~= A.token then
  local score = tonumber(redis.call('ZSCORE', K.due, A.sid) or '')
  if head[1] ~= '' and A.patient == '1' then return {'owned'} end
  if head[1] ~= '' and score and score > now and score <= now + tonumber(head[2]) then return {'owned'} end
  if A.named ~= '1' and (not score or still_to_come(score)) then return {'early'} end
  redis.call('HSET', K.session, 'token', A.token, 'channel', A.channel, 'lease', A.lease, 'status', 'running', 'updated', now)
end
redis.call('ZADD', K.due, now + tonumber(A.lease), A.sid)
return {'ok', now, head, redis.call('XRANGE', K.mail, '(' .. head[4], '+')}
