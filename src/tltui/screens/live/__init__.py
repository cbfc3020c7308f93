"""A job that goes on, on the main screen: what comes, what goes wrong, what it prints, what its processes do."""
