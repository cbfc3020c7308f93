"""Autotuning by Inductor: choices, times, winner and cost of the search by operation and shape."""
