-- One step of a session: what the model will see or has said, its calls as records and messages, and where the step stands.
-- Token and version must match; the same commit again is answered as before. With a status the session is parked, too.
local head = redis.call('HMGET', K.session, 'token', 'version', 'commit', 'conversation', 'root')
local again = head[3] == A.commit
if head[1] ~= A.token then return {again and A.status ~= '' and 'parked' or 'stale', now} end
if head[2] ~= A.version then
  if not again then return {'stale', now} end
  return A.status ~= '' and let_go(A.cursor) or {'ok', now}
end
local payload = cjson.decode(A.payload)
local conversation = head[5] or A.sid

local entries = redis.call('LLEN', K.log)
for _, entry in ipairs(payload.log) do entries = redis.call('RPUSH', K.log, entry) end
for _, e in ipairs(payload.events) do
  event(e[1], with({'session_id', A.sid, 'conversation_id', conversation}, e[2]))
end

local function is_waiting(key) return redis.call('HGET', key, 'state') == 'waiting' end
-- A call that waited for others is written again once it is settled, unless somebody ended it meanwhile.
local function write_again(r)
  local fields = {}
  for name, value in pairs(r.fields) do with(fields, {name, value}) end
  redis.call('HSET', r.key, unpack(fields))
end
local function write_record(r)
  local fields = {'session', A.sid, 'conversation', conversation, 'created', now, 'attempt', '1', 'published', '0'}
  for name, value in pairs(r.fields) do with(fields, {name, value}) end
  redis.call('HSET', r.key, unpack(fields))
  redis.call('ZADD', K.calls, now, r.id)
  if r.fields.provider_id ~= '' then redis.call('HSET', K.names, r.fields.provider_id, r.id) end
  if r.fields.task_handle then redis.call('HSET', K.handles, r.fields.task_handle, r.id) end
  if r.bound then redis.call('HSET', K.idempotency, r.bound[1], r.id .. ' ' .. r.bound[2]) end
end
local function unborn(r)
  return {session = A.sid, conversation = conversation, tool = r.fields.tool, provider_id = r.fields.provider_id, attempt = '1',
          label = r.fields.label}
end
local function end_unborn(r)
  redis.call('HSET', r.key, 'ended_at', now)
  local seq = event('tool_call.' .. r.fields.state, end_facts(r.id, unborn(r), r.fields), true)
  redis.call('HSET', r.key, 'end_seq', seq)
end
-- A call that is born deferred: nobody runs it, and its moment is the end of its time.
local function defer_unborn(r)
  redis.call('HSET', r.key, 'deferred_at', now, 'nonce', '1', 'token', 'deferred:1', 'starts', '0')
  redis.call('ZADD', K.watch, within_sleep(now + tonumber(r.fields.expires_ms)), r.id)
  event('tool_call.deferred', call_facts(r.id, unborn(r)))
end
local function end_waiting(e)
  local c = record(e.key)
  if not c or c.state ~= 'waiting' then return end
  local fields = {'ended_at', now}
  for name, value in pairs(e.fields) do with(fields, {name, value}) end
  redis.call('HSET', e.key, unpack(fields))
  redis.call('HSET', e.key, 'end_seq', event('tool_call.' .. e.fields.state, end_facts(e.id, c, e.fields), true))
end
for _, e in ipairs(payload.ends) do end_waiting(e) end
for _, r in ipairs(payload.records) do
  if not r.again then write_record(r) elseif is_waiting(r.key) then write_again(r) else r.fields.state = '' end
  if FINAL[r.fields.state] then end_unborn(r) end
  if r.fields.state == 'deferred' then defer_unborn(r) end
end

local function publish(p)
  local c = record(p.key)
  if not c or c.state ~= 'waiting' then return end
  redis.call('HSET', p.key, 'state', 'queued', 'queued_at', now, 'published', '1')
  redis.call('ZADD', p.queued, p.message ~= '' and now or 0, p.id)
  redis.call('ZADD', K.watch, within_sleep(now + p.queue_timeout_ms), p.id)
  redis.call('SADD', K.queues, p.queue)
  if p.message ~= '' then redis.call('LPUSH', p.list, p.message) end
  event('tool_call.queued', call_facts(p.id, c))
end
for _, p in ipairs(payload.publish) do publish(p) end

redis.call('HSET', K.session, 'version', tonumber(A.version) + 1, 'commit', A.commit, 'snapshot', A.snapshot,
           'cursor', A.cursor, 'heard', A.heard, 'entries', entries, 'updated', now)
if A.trim ~= '' then redis.call('XTRIM', K.mail, 'MINID', A.trim) end
redis.call('ZADD', K.due, now + tonumber(A.lease), A.sid)
return A.status ~= '' and let_go(A.cursor) or {'ok', now}
