-- Writes one event to the session's stream and to the stream of all, and returns its id in the former.
-- Needs K.events K.all_events
local function flat(facts)
  local out = {}
  for i = 1, #facts, 2 do
    if (facts[i + 1] or '') ~= '' then out[#out + 1] = facts[i]; out[#out + 1] = facts[i + 1] end
  end
  return out
end
local function event(kind, facts, ends)
  local fields = flat(facts)
  local seq = redis.call('XADD', K.events, 'MAXLEN', '~', 1000, '*', 'kind', kind, 'at', now, unpack(fields))
  if ends then fields[#fields + 1] = 'end_seq'; fields[#fields + 1] = seq end
  fields[#fields + 1] = 'seq'; fields[#fields + 1] = seq
  redis.call('XADD', K.all_events, 'MAXLEN', '~', 10000, '*', 'kind', kind, 'at', now, unpack(fields))
  return seq
end
-- The ids that every event of a call carries. `c` is a table of the record's fields.
local function call_facts(cid, c)
  return {'session_id', c.session, 'conversation_id', c.conversation, 'tool_call_id', cid, 'tool', c.tool,
          'provider_call_id', c.provider_id, 'attempt', c.attempt, 'label', c.label or ''}
end
local function with(facts, more)
  for i = 1, #more do facts[#facts + 1] = tostring(more[i]) end
  return facts
end
