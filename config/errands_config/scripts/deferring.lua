-- Has a call wait for somebody outside, and says so in the session's events. Each deferral has a number: the tokens of an earlier
-- one are void. Needs events.lua and K.call K.watch A.cid
-- `d`: kind, reason, hook, arguments, expires_ms
local function defer_call(c, d)
  local nonce = redis.call('HINCRBY', K.call, 'nonce', 1)
  redis.call('HDEL', K.call, 'worker', 'pid', 'deadline', 'answer')
  redis.call('HSET', K.call, 'state', 'deferred', 'deferred_at', now, 'token', 'deferred:' .. nonce, 'defer_kind', d.kind,
             'defer_reason', d.reason or '', 'defer_hook', d.hook or '', 'defer_arguments', d.arguments or '', 'expires_ms', d.expires_ms)
  redis.call('ZADD', K.watch, within_sleep(now + tonumber(d.expires_ms)), A.cid)
  event('tool_call.deferred', call_facts(A.cid, c))
  return nonce
end
