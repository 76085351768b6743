-- Which store this is: a random word that the first process leaves which meets it. Needs K.store A.fresh
local function generation()
  if redis.call('HSETNX', K.store, 'generation', A.fresh) == 1 then redis.call('HSET', K.store, 'born', now) end
  return redis.call('HGET', K.store, 'generation')
end
