"""What torch compiles in a test of the user's: its log (`recording.py`), limits (`limits.py`), what is said when they are exceeded
(`verdict.py`). The plugin for pytest is `tltui.pytest`."""
