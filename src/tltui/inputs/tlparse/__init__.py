"""Reports that tlparse has written: their copy of the trace, or what they keep of it, laid out again."""
