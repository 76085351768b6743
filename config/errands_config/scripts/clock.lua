-- The store's clock, milliseconds: the only clock that records know.
local function now_ms()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
local now = now_ms()
