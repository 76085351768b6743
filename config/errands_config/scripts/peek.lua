-- The sessions that are due, most urgent first.
return redis.call('ZRANGEBYSCORE', K.due, '-inf', now, 'LIMIT', 0, A.limit)
