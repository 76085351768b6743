-- Lets go of a session that has nothing to commit.
local head = redis.call('HMGET', K.session, 'token', 'cursor')
if head[1] ~= A.token then return {'stale', now} end
return let_go(head[2])
