"""How a job ended, as its output tells: tracebacks, torchrun's summary, other programs' last words."""
