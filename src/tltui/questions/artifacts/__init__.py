"""One artifact or record: its page, and what `show` and `extract` print."""
