-- The store's clock, milliseconds: the only clock that records know.
local function now_ms()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
local now = now_ms()
-- No member of an index is left alone for longer than this, ms: one whose moment lies further ahead is looked at meanwhile,
-- and a score that lies further ahead can only have been written before the clock went back, so it is looked at at once.
local LONGEST_SLEEP = 600000
local function since(moment) return math.max(0, now - tonumber(moment)) end
local function within_sleep(moment) return math.min(tonumber(moment), now + LONGEST_SLEEP) end
local function still_to_come(score) return score > now and score <= now + LONGEST_SLEEP end
