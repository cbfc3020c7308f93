"""Source lines: everything in a trace that comes from one."""
