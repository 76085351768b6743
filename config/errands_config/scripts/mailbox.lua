-- How full a mailbox is. Control and completion letters are not counted.
-- Needs K.session
local function unread()
  local counts = redis.call('HMGET', K.session, 'accepted', 'heard')
  return tonumber(counts[1] or '0') - tonumber(counts[2] or '0')
end
local function accepted() redis.call('HINCRBY', K.session, 'accepted', 1) end
