-- What an owner gets to know of its session, beside its mail.
local HEAD = {'version', 'cursor', 'snapshot', 'agent', 'tools', 'slug', 'root', 'entries'}
