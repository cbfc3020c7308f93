"""Questions about a run: one folder a topic, with its facts, its page and its wording."""
