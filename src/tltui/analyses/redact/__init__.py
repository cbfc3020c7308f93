"""What of a trace is the user's, and a trace without it."""
