-- Puts a letter into a session's mailbox, once an id, and makes somebody look.
if redis.call('EXISTS', K.session) == 0 then return {'unknown'} end
local before = redis.call('GET', K.receipt)
if before then return {'duplicate', before} end
if A.kind ~= 'control' and redis.call('XLEN', K.mail) >= tonumber(A.bound) then return {'full'} end
local seq = redis.call('XADD', K.mail, '*', 'id', A.id, 'kind', A.kind, 'sender', A.sender, 'priority', A.priority,
                       'at', now, 'text', A.text)
redis.call('SET', K.receipt, seq, 'PX', A.receipt_ms)
wake()
return {'sent', seq}
