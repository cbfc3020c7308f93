"""The graph of a compile as a script that runs as it is.

The graph of a trace is a stranger's text. `whitelist.py` says what of it may stand in a script, `reading.py` makes classes of it,
`inputs.py` and `below.py` what it is called with, `script.py` writes it all down, `choosing.py` takes the graph of a compile that
is worth the most. tltui itself never runs any of it.
"""
