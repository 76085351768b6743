-- Ends a deferred call with an outcome from outside, once: the same again is answered the same, another one is a conflict.
-- An answer to a question that had ended without one is mail. `mark` is the outcome's fingerprint.
local c, said, ended = met()
if c then
  redis.call('HSET', K.call, 'answer', A.mark)
  local o = cjson.decode(A.outcome)
  end_call(c, o)
  return {'ok', o.state}
end
local unanswered = ended and ended.kind == 'question' and said[2] == 'completed'
    and (not ended.answer or string.sub(ended.answer, 1, 9) == 'dismissed')
if not unanswered or A.late == '' then return said end
redis.call('HSET', K.call, 'answer', A.mark)
redis.call('XADD', K.mail, '*', 'id', 'answer-' .. A.cid, 'kind', 'continuationResult', 'sender', 'user', 'at', now, 'text', A.late,
           'call', A.cid)
wake()
return {'mailed', 'completed'}
