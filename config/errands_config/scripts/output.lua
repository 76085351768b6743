-- Adds to what a running call has printed in this attempt, and answers how many bytes stand there now. `at`: how many stood
-- before this text: what came in already, by a sending whose answer was lost, is not added again. `is_full`: no more is kept.
local c = redis.call('HMGET', K.call, 'state', 'token')
if c[1] ~= 'running' or c[2] ~= A.token then return -1 end
if A.is_full ~= '' then redis.call('HSET', K.call, 'output_full', '1') end
local size = redis.call('STRLEN', K.output)
local there = size - tonumber(A.at)
if there < 0 or there >= #A.text then return size end
return redis.call('APPEND', K.output, string.sub(A.text, there + 1))
