-- The members of an index whose moment has come, most urgent first, and how long until the next one's, ms (-1: there is none).
local members = redis.call('ZRANGEBYSCORE', K.index, '-inf', now, 'LIMIT', 0, A.limit)
for _, stranded in ipairs(redis.call('ZRANGEBYSCORE', K.index, '(' .. (now + LONGEST_SLEEP), '+inf', 'LIMIT', 0, A.limit)) do
  members[#members + 1] = stranded
end
local following = redis.call('ZRANGEBYSCORE', K.index, '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
return {members, following[2] and math.ceil(tonumber(following[2]) - now) or -1}
