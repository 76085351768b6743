-- What an answer from outside meets. Needs final.lua and K.call A.nonce A.mark
-- Answers the record and its outside fields, or nil and what to say.
local function met()
  local c = record(K.call)
  if not c then return nil, {'unknown', ''} end
  local o = redis.call('HMGET', K.call, 'nonce', 'defer_kind', 'answer', 'defer_hook', 'approved', 'deferred_at', 'expires_ms')
  local outside = {nonce = o[1], kind = o[2], answer = o[3] or nil, hook = o[4] or '', approved = o[5] or nil}
  if not outside.nonce then return nil, {'unfit', c.state} end
  if outside.answer == A.mark and outside.nonce == A.nonce then return nil, {'again', c.state} end
  if outside.nonce ~= A.nonce then return nil, {'stale', c.state} end
  if c.state == 'deferred' then
    -- a call whose time is over has expired, also if no sweeper has come yet; a question may still be answered
    local is_over = outside.kind ~= 'question' and math.min(tonumber(o[6]), now) + tonumber(o[7]) <= now
    if not is_over then return c, outside end
    redis.call('HINCRBY', K.call, 'late', 1)
    return nil, {'gone', 'expired'}, outside
  end
  if FINAL[c.state] and not outside.answer then
    redis.call('HINCRBY', K.call, 'late', 1)
    return nil, {'gone', c.state}, outside
  end
  return nil, {'conflict', c.state}, outside
end
