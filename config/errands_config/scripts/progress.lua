-- News of a running call from the attempt that holds it, or of a deferred one from outside. `mark` is this report's own, so that a
-- repeat is seen as one.
local c = record(K.call)
if not c or (c.state ~= 'running' and c.state ~= 'deferred') or c.token ~= A.token then return 'lost' end
if c.progress_mark == A.mark then return 'ok' end
redis.call('HSET', K.call, 'progress_mark', A.mark)
redis.call('XADD', K.progress, 'MAXLEN', 50, '*', 'at', now, 'payload', A.payload)
tell_progress(c)
return 'ok'
