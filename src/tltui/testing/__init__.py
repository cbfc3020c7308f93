"""Checks of what torch compiles in a user's test: its log (`recording.py`), limits and failure messages (`limits.py`).

The plugin for pytest is `tltui.pytest`.
"""
