"""A job that tltui starts: its environment, and what it and tltui do with signals. Nothing here prints."""
