-- Of the calls in KEYS, those in one of the wanted states: their places and their tools in a row. Changes nothing.
local wanted = {}
for state in string.gmatch(A.states, '%S+') do wanted[state] = true end
local found = {}
for place, key in ipairs(KEYS) do
  local facts = redis.call('HMGET', key, 'state', 'tool')
  if facts[1] and wanted[facts[1]] then
    found[#found + 1] = place
    found[#found + 1] = facts[2] or ''
  end
end
return found
