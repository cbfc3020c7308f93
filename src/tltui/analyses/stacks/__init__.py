"""Where in the user's code the compilations take place."""
