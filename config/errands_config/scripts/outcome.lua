-- What an end says in events, and the fields of an outcome. Needs events.lua
local function end_facts(cid, c, o)
  local facts = call_facts(cid, c)
  if c.started_at then with(facts, {'elapsed_ms', since(c.started_at)}) end
  if o.state == 'failed' then with(facts, {'error', o.error_kind or ''}) end
  if o.state == 'timed_out' then with(facts, {'timeout_seconds', o.timeout_seconds or ''}) end
  if o.state == 'cancelled' then with(facts, {'reason', o.reason or '', 'by', o.by or ''}) end
  return facts
end
local OUTCOME = {'state', 'result', 'result_type', 'error', 'error_kind', 'by', 'reason', 'confirmed', 'timeout_seconds', 'noted'}
