"""What is asked in the line below, and the lists above it."""
