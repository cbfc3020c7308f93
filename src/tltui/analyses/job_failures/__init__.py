"""How a job ended, as what it printed besides torch's log records tells: tracebacks, torchrun's summary, other programs' last words."""
