-- Puts a letter into a session's mailbox, once an id, and makes somebody look.
if redis.call('EXISTS', K.session) == 0 then return {'unknown'} end
local before = redis.call('GET', K.receipt)
if before then return {'duplicate', before} end
local counts = A.kind ~= 'control'
if counts and unread() >= tonumber(A.bound) then return {'full'} end
local seq = redis.call('XADD', K.mail, '*', 'id', A.id, 'kind', A.kind, 'sender', A.sender, 'priority', A.priority,
                       'hops', A.hops, 'expects_reply', A.expects_reply, 'calls', A.calls, 'turns', A.turns, 'at', now,
                       'text', A.text)
if counts then accepted() end
redis.call('SET', K.receipt, seq, 'PX', A.receipt_ms)
wake()
return {'sent', seq}
