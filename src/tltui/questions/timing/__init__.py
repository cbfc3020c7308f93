"""Compile time by phase, function, compile and rank."""
