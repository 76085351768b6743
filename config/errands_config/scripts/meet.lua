-- Tells a process which store it has met.
return generation()
