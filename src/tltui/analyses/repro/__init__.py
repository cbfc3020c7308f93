"""The graph of a compile as a script that runs by itself.

The graph of a trace is a stranger's text. `checking.py` refuses what a script must not have, with the names of `allowed.py`;
`checked_forms.py` has the forms of what skips a bounds check, `literals.py` and `sizes.py` bound numbers and bytes. `reading.py`
makes classes of the text, `inputs.py` and `below.py` what it is called with, `script.py` writes it all down, `choosing.py` takes
the graph of a compile that is worth the most. tltui itself never runs any of it.
"""
