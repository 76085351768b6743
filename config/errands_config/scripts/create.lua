-- A session with its first mail. The same session again changes nothing.
if redis.call('EXISTS', K.session) == 1 then return 'exists' end
local head = cjson.decode(A.head)
local fields = {'created', now, 'updated', now, 'version', '0', 'cursor', '0-0', 'token', '', 'lease', '0'}
for name, value in pairs(head) do fields[#fields + 1] = name; fields[#fields + 1] = value end
redis.call('HSET', K.session, unpack(fields))
redis.call('ZADD', K.sessions, now, A.sid)
redis.call('SET', K.agent, A.agent, 'EX', A.definition_seconds)
redis.call('SET', K.toolset, A.toolset, 'EX', A.definition_seconds)
if A.text == '' then
  redis.call('HSET', K.session, 'status', 'idle')
else
  redis.call('XADD', K.mail, '*', 'id', A.mail_id, 'kind', 'userMessage', 'sender', 'user', 'at', now, 'text', A.text)
  accepted()
  wake()
end
return 'created'
