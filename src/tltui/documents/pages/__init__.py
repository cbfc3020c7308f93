"""Pages about a run or a part of it, one module a page; `table.py` lists the views."""
