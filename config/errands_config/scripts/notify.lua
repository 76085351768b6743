-- News that the model shall hear of, of a running or a deferred call: progress, and mail while the call has some of its 16 left.
-- `number` counts the attempt's notifies, so that a repeat is seen as one.
local c = record(K.call)
if not c or (c.state ~= 'running' and c.state ~= 'deferred') or c.token ~= A.token then return 'lost' end
local mark = A.token .. ':' .. A.number
if c.notify_mark == mark then return 'ok' end
redis.call('HSET', K.call, 'notify_mark', mark)
redis.call('XADD', K.progress, 'MAXLEN', 50, '*', 'at', now, 'payload', A.payload)
tell_progress(c)
if tonumber(c.notified or '0') >= tonumber(A.bound) or unread() >= tonumber(A.mail_bound) then return 'kept' end
redis.call('HINCRBY', K.call, 'notified', 1)
accepted()
redis.call('XADD', K.mail, '*', 'id', 'note-' .. A.cid .. '-' .. A.number, 'kind', 'toolCallNotify', 'sender', A.cid,
           'at', now, 'text', A.text, 'call', A.cid)
wake()
return 'ok'
