-- Gives a worker incarnation up, if its beat still stands where it was watched.
local beat = redis.call('ZSCORE', K.workers, A.worker)
if not beat then return redis.call('ZSCORE', K.settled, A.worker) and 'settled' or 'unknown' end
if A.beat ~= '' and tonumber(beat) ~= tonumber(A.beat) then return 'moved' end
redis.call('ZREM', K.workers, A.worker)
redis.call('ZADD', K.settled, now, A.worker)
redis.call('ZREMRANGEBYSCORE', K.settled, '-inf', '(' .. (now - tonumber(A.keep_ms)))
return 'settled'
