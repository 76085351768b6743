-- Gives a call that ran back to its queue, for its next attempt. Nothing is published: score 0 asks for that.
-- Needs events.lua, limits.lua and K.call K.watch K.queued K.worker_calls K.wishes K.queues K.output A.cid
local function requeue(c, reason)
  redis.call('HDEL', K.call, 'worker', 'pid', 'token', 'deadline', 'started_at', 'output_full')
  redis.call('UNLINK', K.output)
  c.attempt = string.format('%d', tonumber(c.attempt) + 1)
  redis.call('HSET', K.call, 'state', 'queued', 'attempt', c.attempt, 'queued_at', now, 'published', '0')
  redis.call('HDEL', K.worker_calls, A.cid)
  redis.call('HDEL', K.wishes, A.cid)
  redis.call('ZADD', K.queued, 0, A.cid)
  redis.call('SADD', K.queues, c.queue)
  redis.call('ZADD', K.watch, within_sleep(now + cjson.decode(c.policy).queue_timeout_seconds * 1000), A.cid)
  let_go()
  ring()
  event('tool_call.queued', with(call_facts(A.cid, c), {'reason', reason}))
end
