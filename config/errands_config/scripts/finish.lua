-- The end of a call, from the attempt that holds it. First writer wins; a later one is counted and changes nothing.
local c = record(K.call)
if not c then return {'unknown'} end
if FINAL[c.state] then
  if c.ended_with == A.token then return {'ok', c.end_seq} end
  redis.call('HINCRBY', K.call, 'late', 1)
  return {'late', c.state}
end
if c.state ~= 'running' or c.token ~= A.token then
  redis.call('HINCRBY', K.call, 'late', 1)
  return {'lost', c.state}
end
local o = cjson.decode(A.outcome)
if o.state == 'cancelled' then o.by = c.wish_by or o.by; o.reason = c.wish_reason or o.reason end
redis.call('HSET', K.call, 'ended_with', A.token)
return {'ok', end_call(c, o)}
