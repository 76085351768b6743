-- A worker incarnation lives. Answers what it runs and which of it should end; one that was given up is told so.
local met = generation()
if redis.call('ZSCORE', K.settled, A.worker) then return {'settled', now, met} end
redis.call('ZADD', K.workers, now, A.worker)
redis.call('HSET', K.worker, 'beat', now, unpack(cjson.decode(A.facts)))
redis.call('EXPIRE', K.worker, A.worker_seconds)
local offers = redis.call('EXPIRE', K.catalogue, A.catalogue_seconds)
return {'ok', now, met, redis.call('HGETALL', K.worker_calls), redis.call('HGETALL', K.wishes), offers}
