"""Compressed files, archives and standard input; supported contents are unpacked once into a private cache."""
