-- Shared limits. The keys behind the named ones are, for each name in A.limits: holders, waiting, starts.
-- Needs K.watch K.sweep A.cid A.limits
local LIMITS = {}
for name in string.gmatch(A.limits, '%S+') do
  local at = NAMED + 3 * #LIMITS
  LIMITS[#LIMITS + 1] = {name = name, holders = KEYS[at + 1], waiting = KEYS[at + 2], starts = KEYS[at + 3]}
end
local MINUTE = 60000
local function given(bound) return type(bound) == 'number' and bound or nil end  -- cjson's null counts as true
-- Has a sweeper look at once.
local function ring()
  redis.call('LPUSH', K.sweep, A.cid)
  redis.call('LTRIM', K.sweep, 0, 63)
end
-- Has the first of those who wait looked at.
local function next_in_line(limit)
  local first = redis.call('ZRANGE', limit.waiting, 0, 0)[1]
  if first then
    redis.call('ZADD', K.watch, 'XX', now, first)
    ring()
  end
end
local function let_go()
  for _, limit in ipairs(LIMITS) do
    local waited = redis.call('ZREM', limit.waiting, A.cid)
    local held = redis.call('ZREM', limit.holders, A.cid)
    if waited + held > 0 then next_in_line(limit) end
  end
end
-- The first limit that has no room for this call, and the moment at which it may have some (nil: when a slot is let go).
local function blocked(bounds)
  for i, limit in ipairs(LIMITS) do
    local most, per_minute = given(bounds[i].concurrency), given(bounds[i].per_minute)
    if not redis.call('ZSCORE', limit.holders, A.cid) then
      local ahead = redis.call('ZRANGE', limit.waiting, 0, 0)[1]
      if ahead and ahead ~= A.cid then return limit end
      if most and redis.call('ZCARD', limit.holders) >= most then return limit end
    end
    if per_minute then
      redis.call('ZREMRANGEBYSCORE', limit.starts, '-inf', now - MINUTE)
      redis.call('ZREMRANGEBYSCORE', limit.starts, '(' .. now, '+inf')
      if redis.call('ZCARD', limit.starts) >= per_minute then
        return limit, tonumber(redis.call('ZRANGE', limit.starts, 0, 0, 'WITHSCORES')[2]) + MINUTE
      end
    end
  end
end
local function take_slots(bounds)
  for i, limit in ipairs(LIMITS) do
    redis.call('ZREM', limit.waiting, A.cid)
    redis.call('ZADD', limit.holders, 'NX', now, A.cid)
    local most = given(bounds[i].concurrency)
    if not most or redis.call('ZCARD', limit.holders) < most then next_in_line(limit) end
  end
end
local function count_start(bounds, attempt)
  for i, limit in ipairs(LIMITS) do
    if given(bounds[i].per_minute) then
      redis.call('ZADD', limit.starts, now, A.cid .. ':' .. attempt)
      redis.call('PEXPIRE', limit.starts, MINUTE)
    end
  end
end
-- Puts the call in line for one limit, without a slot of any; `moment` as `blocked` says.
local function wait_for(full, moment, give_up)
  for _, limit in ipairs(LIMITS) do
    local held = redis.call('ZREM', limit.holders, A.cid)
    if limit ~= full and held + redis.call('ZREM', limit.waiting, A.cid) > 0 then next_in_line(limit) end
  end
  redis.call('HSET', K.call, 'state', 'waiting', 'limit', full.name)
  local last = redis.call('ZREVRANGE', full.waiting, 0, 0, 'WITHSCORES')[2]
  -- always behind the last: whoever is first has been rung, and only its leaving makes another one first
  redis.call('ZADD', full.waiting, 'NX', math.max(now, tonumber(last or '0') + 1), A.cid)
  redis.call('ZADD', K.watch, within_sleep(math.min(moment or give_up, give_up)), A.cid)
end
