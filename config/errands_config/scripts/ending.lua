-- Enters a call's final state: record, indexes, one end event, completion mail and wake-up, all at once.
-- The result of a completed call takes the place of what it printed.
-- Needs outcome.lua, wake.lua, limits.lua and K.call K.mail K.watch K.queued K.worker_calls K.wishes K.output A.cid
-- `o`: state, result, result_type, error, error_kind, by, reason, confirmed, timeout_seconds; empty strings where they do not apply.
local function end_call(c, o)
  local fields = {'ended_at', now}
  local letter = {'id', 'end-' .. A.cid, 'kind', 'toolCallFinished', 'sender', 'system', 'at', now, 'call', A.cid, 'starts', c.starts or '1'}
  local large = #(o.result or '') > tonumber(A.inline_bytes)
  for _, name in ipairs(OUTCOME) do
    local value = o[name] or ''
    with(fields, {name, value})
    if value ~= '' and not (name == 'result' and large) then with(letter, {name, value}) end
  end
  if large then with(letter, {'truncated', '1'}) end
  redis.call('HSET', K.call, unpack(fields))
  redis.call('ZREM', K.watch, A.cid)
  redis.call('ZREM', K.queued, A.cid)
  redis.call('HDEL', K.worker_calls, A.cid)
  redis.call('HDEL', K.wishes, A.cid)
  if o.state == 'completed' then redis.call('UNLINK', K.output) end
  let_go()
  local seq = event('tool_call.' .. o.state, end_facts(A.cid, c, o), true)
  redis.call('HSET', K.call, 'end_seq', seq)
  redis.call('XADD', K.mail, '*', unpack(letter))
  wake()
  return seq
end
