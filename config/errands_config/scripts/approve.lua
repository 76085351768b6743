-- Gives a call that waits for leave back to its queue, for its next attempt, with the arguments that were shown or new ones.
local c, said = met()
if not c then return said end
local outside = said
if outside.kind ~= 'policy' and outside.kind ~= 'hook' then return {'unfit', c.state} end
local given = outside.approved and cjson.decode(outside.approved) or {}
given[#given + 1] = {hook = outside.hook, digest = A.digest}
-- what was shown is kept, so that the same leave again is known, whatever it runs with
local fields = {'answer', A.mark, 'approved', cjson.encode(given), 'defer_arguments', A.shown}
if A.arguments ~= '' then
  with(fields, {'arguments', A.arguments, 'policy', A.policy, 'label', A.label, 'queue', A.queue, 'limits', A.limit_names})
end
redis.call('HSET', K.call, unpack(fields))
requeue(record(K.call), 'approved')
redis.call('XADD', K.mail, '*', 'id', 'approved-' .. A.cid .. '-' .. A.nonce, 'kind', 'toolCallApproved', 'sender', 'system', 'at', now,
           'call', A.cid)
wake()
return {'ok', 'queued'}
