-- A running call waits for somebody outside, by its attempt. One whose end was asked for meanwhile ends instead.
local c = record(K.call)
if not c then return {'unknown'} end
local before = redis.call('HMGET', K.call, 'deferred_with', 'nonce')
if before[1] == A.token then return {'ok', before[2]} end
if FINAL[c.state] and c.ended_with == A.token then return {'late', c.state} end
if c.state ~= 'running' or c.token ~= A.token then
  redis.call('HINCRBY', K.call, 'late', 1)
  return {FINAL[c.state] and 'late' or 'lost', c.state}
end
if c.wish == 'cancel' then
  redis.call('HSET', K.call, 'ended_with', A.token)
  end_call(c, {state = 'cancelled', by = c.wish_by, reason = c.wish_reason})
  return {'late', 'cancelled'}
end
local d = cjson.decode(A.deferral)
local nonce = defer_call(c, d)
redis.call('HSET', K.call, 'deferred_with', A.token)
if d.kind == 'hook' then redis.call('HINCRBY', K.call, 'starts', -1) end  -- its tool has not begun
redis.call('HDEL', K.worker_calls, A.cid)
redis.call('HDEL', K.wishes, A.cid)
let_go()
redis.call('XADD', K.mail, '*', 'id', 'deferred-' .. A.cid .. '-' .. nonce, 'kind', 'toolCallDeferred', 'sender', 'system', 'at', now,
           'call', A.cid)
wake()
return {'ok', tostring(nonce)}
